//! Processes as targets, honest and hostile: whatever one does, it is bounded, named, and gone afterwards.

use std::{collections::BTreeMap, path::Path, time::Duration};

use bytes::Bytes;
use ostiary_drivers::{Program, StdioTransport};
use ostiary_record::{
    End, Event, ExchangeId, Kind, Route, Source, Tape, TargetId,
    ports::{Abort, Carrier, Channel, CouldNotRun, Limits, Next, Outbound, Target, Transport},
};

use crate::setup::{limits, nobody, soon, tape, until};

/// Answers each line with the id that the line has.
const ECHO: &str = r#"while read -r line; do
  id=${line#*'"id":'}; id=${id%%,*}
  case $line in *'"id"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}";; esac
done"#;

struct Open {
    tape: Tape,
    channel: Box<dyn Channel>,
}

fn program(script: &str) -> Program {
    let variables = BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]);
    let command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    Program { command, variables, ..Program::default() }
}

async fn open_program(program: Program, limits: Limits) -> Result<Open, CouldNotRun> {
    let tape = tape();
    let target = Target { id: TargetId::from("mcp:x"), url: String::new(), carrier: Carrier::Stdio };
    let transport = StdioTransport::new([(target.id.clone(), program)]);
    let channel = transport.open(&tape, &target, &nobody(), limits).await?;
    Ok(Open { tape, channel })
}

async fn open(script: &str) -> Open {
    open_program(program(script), limits()).await.expect("sh is everywhere")
}

fn line(text: &str) -> Outbound {
    let body = Bytes::from(format!("{text}\n"));
    Outbound { route: Route::Stdio, headers: Vec::new(), body, intent: None }
}

fn request(id: u32) -> Outbound {
    line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#))
}

impl Open {
    fn ask(&mut self, id: u32) -> ExchangeId {
        self.channel.start(request(id))
    }

    /// Waits for the end of an exchange; what else is said meanwhile is on the tape.
    async fn end(&mut self, x: ExchangeId) -> End {
        let deadline = soon(&self.tape);
        loop {
            match self.channel.next(deadline).await {
                Next::Event(Event { kind: Kind::Ended { x: ended, how }, .. }) if ended == x => return how,
                Next::Event(_) => {}
                other => panic!("{other:?} before the end of {x:?}"),
            }
        }
    }

    fn inbound(&self) -> Vec<(String, String)> {
        let said = |e: Event| match e.kind {
            Kind::Inbound { channel, bytes } => {
                Some((channel.0, String::from_utf8_lossy(bytes.as_bytes()).into_owned()))
            }
            _ => None,
        };
        self.tape.events().into_iter().filter_map(said).collect()
    }

    fn frames(&self, x: ExchangeId) -> usize {
        self.tape.events().iter().filter(|e| matches!(e.kind, Kind::Frame { x: of, .. } if of == x)).count()
    }

    fn mark(&self, name: &str) -> Option<String> {
        self.tape.events().into_iter().find_map(|e| match e.kind {
            Kind::Mark { label, value } if label.0 == name => Some(value.unwrap_or_default()),
            _ => None,
        })
    }
}

/// Waits until a process is no more.
async fn gone(pid: &str) {
    let is_gone = || match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Err(_) => true,
        // a zombie has ended, and waits for its parent only
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
    };
    until(is_gone).await;
}

#[tokio::test]
async fn overlapping_requests_get_their_own_answers() {
    let mut open = open(ECHO).await;
    let both = [open.ask(1), open.ask(2)];
    for x in both {
        assert_eq!(open.end(x).await, End::Complete);
        assert_eq!(open.frames(x), 1);
    }
    let told = open.channel.start(line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
    assert_eq!(open.end(told).await, End::Complete, "nobody answers a notification");
    open.channel.close(Duration::from_secs(5)).await;
    assert_eq!(open.mark("stdio.ended").as_deref(), Some("exit status: 0"));
}

#[tokio::test]
async fn noise_is_kept_and_is_nobodys_answer() {
    let script = format!("echo 'Server is listening'; echo\n{ECHO}");
    let mut open = open(&script).await;
    let x = open.ask(1);
    assert_eq!(open.end(x).await, End::Complete);
    let expect = ["Server is listening\n", "\n"].map(|text| ("stdio-0".to_owned(), text.to_owned()));
    assert_eq!(open.inbound(), expect);
}

#[tokio::test]
async fn an_answer_with_another_id_is_not_the_answer() {
    let script = r#"read -r line; echo '{"jsonrpc":"2.0","id":99,"result":{}}'; exec cat >/dev/null"#;
    let short = Limits { exchange: Duration::from_millis(300), ..limits() };
    let mut open = open_program(program(script), short).await.unwrap();
    let x = open.ask(1);
    assert_eq!(open.end(x).await, End::Deadline);
    assert_eq!((open.frames(x), open.inbound().len()), (0, 1));
}

#[tokio::test]
async fn a_process_that_never_answers_costs_the_time_of_the_exchange() {
    let short = Limits { exchange: Duration::from_millis(200), ..limits() };
    let mut open = open_program(program("exec cat >/dev/null"), short).await.unwrap();
    let both = [open.ask(1), open.ask(2)];
    assert_eq!([open.end(both[0]).await, open.end(both[1]).await], [End::Deadline, End::Deadline]);
}

#[tokio::test]
async fn a_process_that_dies_midway_ends_all_that_runs() {
    let mut open = open("read -r line; printf '{\"jsonrpc\":'; exit 3").await;
    let x = open.ask(1);
    assert_eq!(open.end(x).await, End::PeerReset { why: "the process ended".to_owned() });
    assert_eq!(open.mark("stdio.ended").as_deref(), Some("exit status: 3"));
    assert_eq!(open.inbound().last().map(|(_, text)| text.as_str()), Some("{\"jsonrpc\":"));
    let late = open.ask(2);
    assert!(matches!(open.end(late).await, End::NoConnection { .. }));
    assert_eq!(open.channel.next(soon(&open.tape)).await, Next::Closed);
}

#[tokio::test]
async fn lines_beyond_a_bound_end_the_process() {
    let cases = [
        ("frame_bytes", "read -r l; head -c 300000 /dev/zero | tr '\\0' x; exec cat"),
        ("frame_bytes", "read -r l; exec cat /dev/zero"),
        ("frames", "read -r l; exec yes"),
        ("body_bytes", "read -r l; while :; do head -c 30000 /dev/zero | tr '\\0' x; echo; done"),
    ];
    for (which, script) in cases {
        let mut open = open(script).await;
        let x = open.ask(1);
        assert_eq!(open.end(x).await, End::Limit { which: which.to_owned() }, "{script}");
        let kept: usize = open.inbound().iter().map(|(_, text)| text.len()).sum();
        assert!(kept <= 300_000, "{kept} bytes of `{script}`");
        open.channel.close(Duration::from_secs(5)).await;
        assert!(open.mark("stdio.ended").is_some(), "{script}");
    }
}

#[tokio::test]
async fn standard_error_is_kept_apart_and_bounded() {
    let script = format!("echo oops >&2; yes noise | head -c 1000000 >&2\n{ECHO}");
    let mut open = open(&script).await;
    let x = open.ask(1);
    assert_eq!(open.end(x).await, End::Complete);
    let said = open.inbound();
    assert!(said.iter().all(|(channel, _)| channel == "stdio-0.stderr"), "{:?}", said.first());
    assert_eq!(said[0].1, "oops\n");
    assert!(said.iter().map(|(_, text)| text.len()).sum::<usize>() < 70_000);
    assert!(open.mark("stdio.stderr_truncated").is_some());
}

#[tokio::test]
async fn only_the_given_variables_are_seen_and_secrets_are_hidden() {
    let mut program = program("env >&2; exec cat >/dev/null");
    program.variables.insert("API_TOKEN".to_owned(), "very-secret".to_owned());
    program.secret = vec!["API_TOKEN".to_owned()];
    let mut open = open_program(program, limits()).await.unwrap();
    until(|| open.inbound().iter().any(|(_, text)| text.starts_with("PATH="))).await;
    open.channel.close(Duration::from_secs(5)).await;
    until(|| open.inbound().iter().any(|(_, text)| text.starts_with("API_TOKEN="))).await;
    let seen: Vec<String> = open.inbound().into_iter().map(|(_, text)| text).collect();
    let named = |name: &str| seen.iter().any(|line| line.starts_with(name));
    assert!(named("PATH=") && named("API_TOKEN=⟨credential:API_TOKEN⟩"), "{seen:?}");
    assert!(!named("HOME=") && !named("CARGO"), "{seen:?}");
}

#[tokio::test]
async fn a_dropped_channel_takes_the_whole_group_with_it() {
    let mut open =
        open("sleep 600 & echo $!; sleep 600 & echo $!; echo $$; trap '' TERM; while :; do sleep 1; done").await;
    let deadline = soon(&open.tape);
    while open.inbound().len() < 3 {
        assert!(matches!(open.channel.next(deadline).await, Next::Event(_)));
    }
    let pids: Vec<String> = open.inbound().into_iter().map(|(_, text)| text.trim().to_owned()).collect();
    let Open { channel, .. } = open;
    drop(channel);
    for pid in pids {
        gone(&pid).await;
    }
}

#[tokio::test]
async fn a_process_that_does_not_end_with_its_input_is_ended() {
    let mut open = open("sleep 600 & echo $!; trap '' TERM; while :; do sleep 1; done").await;
    let deadline = soon(&open.tape);
    assert!(matches!(open.channel.next(deadline).await, Next::Event(_)));
    open.channel.close(Duration::from_millis(100)).await;
    let ended = open.mark("stdio.ended").unwrap();
    assert!(ended.contains("(by us)"), "{ended}");
    gone(open.inbound()[0].1.trim()).await;
}

#[tokio::test]
async fn a_process_that_reads_nothing_holds_nobody_up() {
    let short = Limits { exchange: Duration::from_millis(500), ..limits() };
    let mut open = open_program(program("exec sleep 600"), short).await.unwrap();
    let big = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"ping","params":{{"x":"{}"}}}}"#, "y".repeat(200_000));
    let started: Vec<ExchangeId> = (0..80).map(|_| open.channel.start(line(&big))).collect();
    let mut ends = Vec::new();
    for _ in &started {
        let deadline = soon(&open.tape);
        match open.channel.next(deadline).await {
            Next::Event(Event { kind: Kind::Ended { how, .. }, .. }) => ends.push(how),
            other => panic!("{other:?}"),
        }
    }
    assert!(ends.contains(&End::Deadline));
    assert!(ends.iter().any(|end| matches!(end, End::NoConnection { why } if why.contains("does not read"))));
}

#[tokio::test]
async fn a_given_up_exchange_leaves_the_process_alone() {
    let mut open = open(&format!("read -r first; {ECHO}")).await;
    let given_up = open.ask(1);
    open.channel.abort(given_up, Abort::Drop);
    assert_eq!(open.end(given_up).await, End::LocalAbort);
    let x = open.ask(2);
    assert_eq!(open.end(x).await, End::Complete);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let program = Program { command: vec!["no-such-program".to_owned()], ..Program::default() };
    match open_program(program, limits()).await {
        Err(CouldNotRun::Unreachable { target, why }) => {
            assert_eq!(target, "mcp:x");
            assert!(why.starts_with("`no-such-program` cannot be started"), "{why}");
        }
        other => panic!("{:?}", other.map(|open| open.tape.events())),
    }
    let folder = Program { folder: Some(Path::new("/no/such").to_owned()), ..program_of_true() };
    assert!(open_program(folder, limits()).await.is_err());
}

fn program_of_true() -> Program {
    program("true")
}

#[tokio::test]
async fn everything_is_of_one_source_but_standard_error() {
    let mut open = open(ECHO).await;
    let x = open.ask(1);
    open.end(x).await;
    let sources: Vec<Source> = open.tape.events().into_iter().map(|e| e.from).collect();
    assert!(sources.iter().all(|s| *s == Source::Wire("stdio-0".into())), "{sources:?}");
}
