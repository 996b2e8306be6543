//! Callback addresses that lead into the agent's own network: refusing them is right.
//!
//! Those that lead to the port inside of our receiver are kept, since a delivery there is seen; all others are deleted at
//! once where they were taken, so that nobody else is called.

use std::time::Duration;

use ostiary_protocol::a2a::{Operation, operation::PushConfig};
use ostiary_record::{
    Axes, Registration, Reply as Answer,
    ports::{Address, BoxFuture, CouldNotRun},
};

use super::{Callback, NEEDS, Show, Watch, id_of, inbox, lasting, starting, variants};
use crate::{
    plan::PlanInput,
    scenario::{Budget, Clearance, Role, Scenario, ScenarioSpec},
    scenarios::client::{Client, Led, TaskRef, led_to, message},
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.push.inside";
/// The callback that must be taken, without which a refusal proves nothing; it answers its first delivery with a redirect.
pub(crate) const CONTROL: &str = "control";
/// Where that redirect leads.
pub(crate) const REDIRECTED: &str = "redirected";
/// The address that a message names.
pub(crate) const INLINE: &str = "inline";
/// The mark that tells which address stands for which probe: its value is `NAME URL`.
pub(crate) const PROBE: &str = "push.probe";

/// Ways to write the loopback, each leading to the port inside of our receiver.
pub(crate) const LOOPBACK: [(&str, &str); 7] = [
    ("loopback", "127.0.0.1"),
    ("name", "localhost"),
    ("decimal", "2130706433"),
    ("octal", "0177.0.0.1"),
    ("mapped", "[::ffff:127.0.0.1]"),
    ("unspecified", "0.0.0.0"),
    ("userinfo", "hooks.example.com@127.0.0.1"),
];

/// Addresses of networks that are nobody's business from outside; each is one that most likely nobody has.
pub(crate) const ELSEWHERE: [(&str, &str); 6] = [
    ("private-10", "http://10.255.255.254/callback"),
    ("private-192", "http://192.168.255.254/callback"),
    ("link-local", "http://169.254.255.254/callback"),
    ("metadata", "http://169.254.169.254/latest/meta-data/"),
    ("unique-local", "http://[fd00:ec2::254]/callback"),
    ("file", "file:///etc/hostname"),
];

/// An address outside without TLS, asked for where the control's is https.
pub(crate) const PLAIN: (&str, &str) = ("plain-http", "http://hooks.example.com/callback");

/// How long a delivery is waited for once the task has ended.
const INSIDE: Duration = Duration::from_secs(1);

/// Addresses inside are refused, and no redirect leads there.
pub(crate) struct Inside;

static SPEC: ScenarioSpec = ScenarioSpec {
    clearance: Clearance::Write,
    needs: NEEDS,
    gate: ostiary_record::Gate::Security,
    budget: Budget { calls: 48, ..Budget::USUAL },
    ..ScenarioSpec::new(
        ID,
        "Callbacks are asked for at addresses of the agent's own network, and a redirect leads there.",
    )
};

impl Scenario for Inside {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        variants(input)
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let mut client = Client::open(stage, Role::Primary).await?;
    let redirected = open_inside(stage, REDIRECTED, "127.0.0.1")?;
    let replies = redirected.iter().flat_map(|to| [Answer::Redirect(to.url.clone()), Answer::Status(200)]).collect();
    let control = Callback::open(stage, CONTROL, Show::Nothing, replies)?;
    let watch = Watch::begin(stage).await?;
    let parts = lasting(stage).parts;
    let request = starting(message(stage, &parts));
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    let Led::Task(mut task) = led_to(&reply) else { return Ok(()) };
    if control.create(&mut client, stage, &task).await?.is_none() {
        return Ok(());
    }
    for (name, host) in LOOPBACK {
        if let Some(address) = open_inside(stage, name, host)? {
            ask(&mut client, stage, &task, &address.url).await?;
        }
    }
    let https = stage.callbacks().is_some_and(|c| c.https);
    for (name, url) in ELSEWHERE.into_iter().chain(https.then_some(PLAIN)) {
        stage.mark(PROBE, Some(&format!("{name} {url}")));
        let taken = ask(&mut client, stage, &task, url).await?;
        // where the proxy of an observer stands, nothing gets there
        if let Some(id) = taken.filter(|_| !watch.sees()) {
            let task_id = task.id.clone();
            client.call(stage, Operation::DeleteTaskPushNotificationConfig { task_id, id }).await?;
        }
    }
    in_a_message(&mut client, stage).await?;
    client.settle(stage, &mut task).await?;
    control.wait(stage, 1, INSIDE).await?;
    if let Some(redirected) = redirected {
        inbox(stage)?.wait(&redirected, 1, INSIDE).await;
    }
    watch.end(stage).await
}

/// Whether a host is one that this scenario asks for.
pub(crate) fn is_probe(host: &str) -> bool {
    let loopback = |(_, h): &(&str, &str)| place_of(&format!("http://{h}/")).is_some_and(|(h, _)| h == host);
    let elsewhere = |(_, url): &(&str, &str)| place_of(url).is_some_and(|(h, _)| h == host);
    LOOPBACK.iter().any(loopback) || ELSEWHERE.iter().any(elsewhere)
}

/// Host and port of an http address, as whoever connects to it names them.
pub(crate) fn place_of(url: &str) -> Option<(String, u16)> {
    let authority = url.strip_prefix("http://")?.split('/').next()?;
    let place = authority.rsplit('@').next().unwrap_or(authority);
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (place, 80),
    };
    Some((host.trim_matches(['[', ']']).to_owned(), port))
}

/// An address inside of the receiver, written with this host; `None` where the receiver has no such place.
fn open_inside(stage: &Stage<'_>, name: &str, host: &str) -> Result<Option<Address>, CouldNotRun> {
    let registration = Registration { name: name.to_owned(), ..Registration::default() };
    let Some(mut address) = inbox(stage)?.register_inside(stage.tape(), registration) else { return Ok(None) };
    address.url = address.url.replacen("127.0.0.1", host, 1);
    stage.mark(PROBE, Some(&format!("{name} {}", address.url)));
    Ok(Some(address))
}

async fn ask(
    client: &mut Client,
    stage: &mut Stage<'_>,
    task: &TaskRef,
    url: &str,
) -> Result<Option<String>, CouldNotRun> {
    let id = Some(stage.fresh("probe"));
    let config = PushConfig { id, task_id: task.id.clone(), url: url.to_owned(), ..PushConfig::default() };
    let reply = client.call(stage, Operation::CreateTaskPushNotificationConfig(config)).await?;
    Ok(id_of(&reply))
}

/// The same in a message, which makes a task of its own where the address is taken.
async fn in_a_message(client: &mut Client, stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let Some(address) = open_inside(stage, INLINE, "127.0.0.1")? else { return Ok(()) };
    let parts = crate::scenarios::example::of_variant(stage.axes(), stage.bundle(), stage.card()).parts;
    let mut request = message(stage, &parts);
    request.push = Some(PushConfig { url: address.url, ..PushConfig::default() });
    client.call(stage, Operation::SendMessage(request)).await.map(drop)
}
