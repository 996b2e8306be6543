//! A PostgreSQL server of the tests' own: in a temporary folder, on a loopback port, gone with the process that started it.
//!
//! Start with [`Cluster::shared`] and [`Cluster::database`]; a test that stops the server starts one of its own.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Write as _},
    net::TcpListener,
    os::unix::{
        fs::{MetadataExt as _, OpenOptionsExt as _},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;

/// A server. Dropped, or left behind by a process that dies, it stops and its folder vanishes.
pub struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    databases: AtomicU32,
    orders: Mutex<Option<ChildStdin>>,
    keeper: Mutex<Child>,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No programs.
    #[error("PostgreSQL is missing: neither the PATH nor /usr/lib/postgresql has `initdb`; apt-get install postgresql")]
    Missing,
    /// Root may not run the server, and there is nobody else who could.
    #[error("PostgreSQL does not run as root, and there is no user `postgres`; apt-get install postgresql")]
    NoUser,
    /// A program failed.
    #[error("`{program}` failed: {said}")]
    Program {
        /// Which.
        program: &'static str,
        /// What it said.
        said: String,
    },
    /// A file or process.
    #[error("failed to {what}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The server does not do what it was told.
    #[error("the server did not {what} within {PATIENCE:?}; its log says: {log}")]
    Late {
        /// What it should have done.
        what: &'static str,
        /// The end of its log.
        log: String,
    },
}

/// Longest wait for a server that starts or stops; much longer than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// Runs the server until its input ends, however the process at the other end of the pipe died; then tidies up.
///
/// Nothing waits for the disk, since no test ends the machine. Commits stay synchronous: a server that is stopped hard must
/// come back with what it committed.
const KEEPER: &str = r#"
folder=$1; port=$2; shift 2; server=
start() {
    postgres -D "$folder/data" -c listen_addresses=127.0.0.1 -p "$port" -k "$folder" -c max_connections=200 \
        -c fsync=off -c full_page_writes=off "$@" >>"$folder/log" 2>&1 </dev/null &
    server=$!
}
stop() { [ -n "$server" ] && kill -QUIT "$server" 2>/dev/null && wait "$server"; server=; }
start "$@"
while read -r order; do
    case $order in start) start "$@" ;; stop) stop ;; esac
done
stop
rm -rf "$folder"
"#;

// === impl Cluster ===

impl Cluster {
    /// The server of this process, started when it is first asked for.
    ///
    /// # Panics
    /// When there is no PostgreSQL, with what to do about it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| Self::start().unwrap_or_else(|error| panic!("{}", told(&error))))
    }

    /// A new server.
    ///
    /// # Errors
    /// When there is no PostgreSQL, or it does not start.
    pub fn start() -> Result<Self, ClusterError> {
        Self::launch(None)
    }

    /// A new server that can speak TLS, with a certificate and its key, both in PEM.
    ///
    /// # Errors
    /// When there is no PostgreSQL, or it does not start.
    pub fn encrypted(certificate: &str, key: &str) -> Result<Self, ClusterError> {
        Self::launch(Some((certificate, key)))
    }

    fn launch(tls: Option<(&str, &str)>) -> Result<Self, ClusterError> {
        let programs = Programs::find()?;
        let folder = TempDir::with_prefix("ostiary-postgres-").map_err(io("make a folder"))?;
        let data = folder.path().join("data");
        copy(&programs.template()?, &data).map_err(io("copy the empty server"))?;
        if let Some((certificate, key)) = tls {
            write_private(&data.join("server.crt"), certificate).map_err(io("write the certificate"))?;
            write_private(&data.join("server.key"), key).map_err(io("write the key"))?;
        }
        programs.hand_over(folder.path())?;
        let port = free_port().map_err(io("find a free port"))?;
        let mut keeper = programs.command("sh");
        keeper.args(["-c", KEEPER, "keeper"]).arg(folder.path()).arg(port.to_string());
        if tls.is_some() {
            keeper.args(["-c", "ssl=on"]);
        }
        let keeper = keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut keeper = keeper.map_err(io("start the server"))?;
        let orders = Mutex::new(keeper.stdin.take());
        let (folder, programs, databases) = (folder.keep(), programs.folder, AtomicU32::new(0));
        let cluster = Self { folder, programs, port, databases, orders, keeper: Mutex::new(keeper) };
        cluster.wait("start", Self::is_ready)?;
        Ok(cluster)
    }

    /// A new, empty database, by its URL.
    ///
    /// # Panics
    /// When the server does not make it.
    pub async fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut conn = PgConnection::connect(&self.url("postgres")).await.expect("the test server answers");
        let make = format!("CREATE DATABASE {name}");
        sqlx::raw_sql(AssertSqlSafe(make)).execute(&mut conn).await.expect("the test server makes databases");
        conn.close().await.expect("the connection closes");
        self.url(&name)
    }

    /// The URL of a database.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Where one of PostgreSQL's own programs is.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Ends the server at once, as a machine does that loses its power. Its data stays.
    ///
    /// # Errors
    /// When it does not end.
    pub fn stop(&self) -> Result<(), ClusterError> {
        self.order("stop")?;
        self.wait("stop", |cluster| !cluster.pid_file().exists())
    }

    /// Starts it again.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn restart(&self) -> Result<(), ClusterError> {
        self.order("start")?;
        self.wait("start", Self::is_ready)
    }

    fn order(&self, order: &str) -> Result<(), ClusterError> {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let pipe = orders.as_mut().expect("the pipe lives as long as the cluster");
        writeln!(pipe, "{order}").map_err(io("reach the server's keeper"))
    }

    fn pid_file(&self) -> PathBuf {
        self.folder.join("data/postmaster.pid")
    }

    /// The server writes its status into the last line of its pid file.
    fn is_ready(&self) -> bool {
        fs::read_to_string(self.pid_file()).is_ok_and(|text| text.lines().nth(7).is_some_and(|s| s.trim() == "ready"))
    }

    #[expect(clippy::disallowed_methods, reason = "a test server: looks again until a deadline")]
    fn wait(&self, what: &'static str, done: impl Fn(&Self) -> bool) -> Result<(), ClusterError> {
        let mut waited = Duration::ZERO;
        while !done(self) {
            if waited > PATIENCE {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                let log = log.lines().rev().take(5).collect::<Vec<_>>().join(" / ");
                return Err(ClusterError::Late { what, log });
            }
            thread::sleep(LOOK);
            waited += LOOK;
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The keeper's input ends, and with it the server.
        drop(self.orders.lock().unwrap_or_else(PoisonError::into_inner).take());
        // Fails only when it is gone already, which is what is wanted.
        let _ = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).wait();
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("folder", &self.folder).field("port", &self.port).finish_non_exhaustive()
    }
}

/// PostgreSQL's programs, and the user who may run them.
struct Programs {
    folder: PathBuf,
    user: Option<(u32, u32)>,
}

// === impl Programs ===

impl Programs {
    #[expect(clippy::disallowed_methods, reason = "a test server: where programs are is what the PATH says")]
    fn find() -> Result<Self, ClusterError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let debian = debian.map(|version| version.path().join("bin"));
        // Where the program itself is: the PATH may hold links to some of them only.
        let real = |folder: PathBuf| Some(folder.join("initdb").canonicalize().ok()?.parent()?.to_owned());
        let mut folders = std::env::split_paths(&path).chain(debian).filter_map(real);
        let folder = folders.find(|folder| folder.join("postgres").exists()).ok_or(ClusterError::Missing)?;
        let root = fs::metadata("/proc/self").map_err(io("find out who runs this"))?.uid() == 0;
        let user = if root { Some(postgres_user().ok_or(ClusterError::NoUser)?) } else { None };
        Ok(Self { folder, user })
    }

    /// A program, run by somebody whom PostgreSQL lets run it.
    #[expect(clippy::disallowed_methods, reason = "a test server: its programs find each other by the PATH")]
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let old = std::env::var_os("PATH").unwrap_or_default();
        let path = [self.folder.clone()].into_iter().chain(std::env::split_paths(&old));
        command.env("PATH", std::env::join_paths(path).unwrap_or(old)).current_dir("/");
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }

    /// An empty server's data, made once and copied since: making it takes seconds, and test runners start a process a test.
    fn template(&self) -> Result<PathBuf, ClusterError> {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tmp");
        fs::create_dir_all(&kept).map_err(io("make the folder of the empty server"))?;
        let version = self.version()?;
        let template = kept.join(format!("postgres-{version}"));
        let lock = File::create(kept.join("postgres.lock")).map_err(io("lock the empty server"))?;
        lock.lock().map_err(io("lock the empty server"))?;
        if !template.exists() {
            let made = TempDir::with_prefix("ostiary-initdb-").map_err(io("make a folder"))?;
            self.hand_over(made.path())?;
            let mut initdb = self.command("initdb");
            initdb.args(["-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C", "-D"]);
            run("initdb", initdb.arg(made.path().join("data")))?;
            let half = kept.join("postgres-unfinished");
            fs::remove_dir_all(&half).or_else(ignore_missing).map_err(io("tidy up"))?;
            copy(&made.path().join("data"), &half).map_err(io("keep the empty server"))?;
            fs::rename(&half, &template).map_err(io("keep the empty server"))?;
        }
        Ok(template)
    }

    fn version(&self) -> Result<String, ClusterError> {
        let said = run("postgres", self.command("postgres").arg("--version"))?;
        Ok(said.split_whitespace().nth(2).unwrap_or("unknown").to_owned())
    }

    /// Gives a folder and all that is in it to the server's user.
    fn hand_over(&self, folder: &Path) -> Result<(), ClusterError> {
        let Some((user, group)) = self.user else { return Ok(()) };
        let owner = format!("{user}:{group}");
        run("chown", Command::new("chown").args(["-R", &owner]).arg(folder)).map(|_| ())
    }
}

fn postgres_user() -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.starts_with("postgres:"))?;
    let mut numbers = line.split(':').skip(2);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn run(program: &'static str, command: &mut Command) -> Result<String, ClusterError> {
    let output = command.output().map_err(io("start one of PostgreSQL's programs"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(ClusterError::Program { program, said: text(&output.stderr) })
    }
}

/// Copies a folder; a server's data may be read by its user alone, or the server refuses it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?
        } else {
            fs::copy(entry.path(), target).map(drop)?
        }
    }
    Ok(())
}

/// PostgreSQL refuses a key that others can read.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).create_new(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn io(what: &'static str) -> impl FnOnce(io::Error) -> ClusterError {
    move |source| ClusterError::Io { what, source }
}

/// The error with its cause.
fn told(error: &ClusterError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
