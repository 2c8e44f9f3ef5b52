//! The commands of the README and of the guide, run as they are printed, against a `caudal dev` of their own, in the
//! shells that readers paste them into. Only the ports differ. A request that does not return 2xx fails the test.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::support::{SOON, Value, wait_until};
use crate::unauthenticated::process::Process;

/// Runs the machine's `curl` and notes the status of each request. Its keys are new in each run, as if those of the runs
/// before were no longer kept.
const CURL: &str = r#"#!/bin/sh
for given; do
  shift
  case $given in "Idempotency-Key: "*) given=$given-$RUN_OF_KEYS ;; esac
  set -- "$@" "$given"
done
exec REAL "$@" --write-out '%{stderr}answered %{http_code} %{method} %{url_effective}\n'
"#;
/// A shell in which a reader runs the commands.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Shell {
    /// The lines as a script.
    Script,
    /// The lines pasted into the shell that is the default on many machines, without a person's settings: `#` begins no
    /// comment there, and a quote that is not closed waits for more.
    Zsh,
}

impl Shell {
    /// The shells of this machine. Without zsh only the script is run, unless `CAUDAL_REQUIRE_ZSH` is set.
    fn all() -> Vec<Self> {
        let zsh = Command::new("zsh").arg("--version").output().is_ok();
        let needed = std::env::var_os("CAUDAL_REQUIRE_ZSH").is_some();
        assert!(
            zsh || !needed,
            "CAUDAL_REQUIRE_ZSH is set, and there is no zsh"
        );
        [Self::Script]
            .into_iter()
            .chain(zsh.then_some(Self::Zsh))
            .collect()
    }

    fn command(self) -> Command {
        let mut command;
        match self {
            Self::Script => command = Command::new("bash"),
            Self::Zsh => {
                command = Command::new("zsh");
                command.args(["-f", "-i"]).env("PS1", "").env("PS2", "");
            }
        }
        command
    }

    /// What the commands wrote, without what an interactive shell adds: prompts, which end in a carriage return, and
    /// the notes of what runs in the background.
    fn written(self, line: &str) -> Option<&str> {
        if self == Self::Script {
            return Some(line);
        }
        let line = line.rsplit('\r').next().unwrap_or_default().trim();
        (!line.is_empty() && !line.starts_with('[')).then_some(line)
    }
}

/// How many times lines were run.
static RUNS: AtomicU32 = AtomicU32::new(0);
/// The receiver's address in the guide.
const RECEIVER: &str = "127.0.0.1:9000";

/// The shell blocks of a document that the test runs.
fn blocks(document: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    let text = fs::read_to_string(path).unwrap();
    let blocks = text.split("```sh\n").skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

/// The result of a shell.
struct Ran {
    out: String,
    /// Each request with its status, in order.
    answers: Vec<(String, String)>,
}

/// A folder with a running `caudal dev`, in which a document is followed.
struct Walk {
    /// Before `dir`: the log of the process is in that folder, which must go after it.
    process: Process,
    dir: TempDir,
    /// A free port.
    receiver: String,
}

impl Walk {
    async fn start() -> Self {
        let dir = TempDir::new().unwrap();
        symlink("data", dir.path().join("caudal-data")).unwrap();
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let real = Command::new("sh").args(["-c", "command -v curl"]).output();
        let real = String::from_utf8(real.unwrap().stdout).unwrap();
        assert!(!real.is_empty(), "the guide needs curl");
        let curl = bin.join("curl");
        fs::write(&curl, CURL.replace("REAL", real.trim())).unwrap();
        fs::set_permissions(&curl, fs::Permissions::from_mode(0o755)).unwrap();
        let process = Process::demo(dir.path(), ":").await;
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = free.local_addr().unwrap().to_string();
        Self {
            dir,
            process,
            receiver,
        }
    }

    /// The addresses that `dev` has written down.
    fn addresses(&self) -> BTreeMap<String, String> {
        let file = fs::read(self.dir.path().join("data/dev.json")).unwrap();
        serde_json::from_slice(&file).unwrap()
    }

    /// Runs lines as a script.
    async fn run(&self, lines: &str) -> Ran {
        self.run_in(Shell::Script, lines).await
    }

    /// Runs lines with the addresses of this `dev` in place of the printed ones.
    async fn run_in(&self, shell: Shell, lines: &str) -> Ran {
        let addresses = self.addresses();
        let lines = lines
            .replace("http://127.0.0.1:8080", &addresses["url"])
            .replace("http://127.0.0.1:8081", &addresses["adminUrl"])
            .replace("http://127.0.0.1:8082", &addresses["bankUrl"])
            .replace(RECEIVER, &self.receiver)
            .replace("(\"127.0.0.1\", 9000)", &self.pair());
        let file = |name: &str| self.dir.path().join(name);
        let (script, out, errors) = (file("lines"), file("out"), file("errors"));
        fs::write(&script, lines).unwrap();
        let paths = std::env::var("PATH").unwrap();
        let mut child = shell
            .command()
            .current_dir(self.dir.path())
            .env(
                "PATH",
                format!("{}:{paths}", self.dir.path().join("bin").display()),
            )
            .env(
                "RUN_OF_KEYS",
                RUNS.fetch_add(1, Ordering::Relaxed).to_string(),
            )
            .stdin(fs::File::open(&script).unwrap())
            .stdout(fs::File::create(&out).unwrap())
            .stderr(fs::File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        let read = |file: &Path| fs::read_to_string(file).unwrap();
        let ended = wait_until("the blocks have run", SOON, async || {
            child.try_wait().unwrap()
        });
        let ended = ended.await;
        let (out, errors) = (read(&out), read(&errors));
        assert!(ended.success(), "{ended}: {out}\n{errors}");
        let mut answers = Vec::new();
        for line in errors.lines().filter_map(|line| shell.written(line)) {
            // Nothing else is printed there, since a guide that works causes no errors.
            let answered = line.strip_prefix("answered ");
            let (status, request) = answered
                .and_then(|line| line.split_once(' '))
                .expect(&errors);
            answers.push((request.to_owned(), status.to_owned()));
        }
        Ran { out, answers }
    }

    /// The receiver's address as Python writes it.
    fn pair(&self) -> String {
        let port = self.receiver.rsplit(':').next().unwrap();
        format!("(\"127.0.0.1\", {port})")
    }

    /// Checks that the bank covers what clients have.
    async fn is_covered(&self) {
        let treasury = self.process.client.get("/v1/treasury").await.is(200).json;
        assert_eq!(treasury["covered"], Value::Bool(true), "{treasury}");
    }
}

/// Checks that there were at least so many requests, all answered with the expected status.
#[track_caller]
fn all_well(ran: &Ran, least: usize) {
    let requests = ran.answers.len();
    assert!(requests >= least, "only {requests} requests");
    for (request, status) in &ran.answers {
        assert!(status.starts_with('2'), "{status} {request}\n{}", ran.out);
    }
}

#[actix_web::test]
async fn the_five_requests_of_the_readme_run_as_printed() {
    let mut walk = Walk::start().await;
    let blocks = blocks("README.md");
    // The first block starts the two commands.
    let lines = blocks[1..].concat();
    for shell in Shell::all() {
        for time in ["first", "second"] {
            let ran = walk.run_in(shell, &lines).await;
            all_well(&ran, 5);
            let last = ran.out.trim().lines().last().unwrap();
            assert!(
                last.contains("\"3499.50\""),
                "{shell:?}, {time}: {}",
                ran.out
            );
        }
    }
    walk.is_covered().await;
    walk.process.stop().await;
}

#[actix_web::test]
async fn the_guide_runs_as_printed_and_survives_a_kill() {
    let mut walk = Walk::start().await;
    let blocks = blocks("docs/guide.md");
    assert!(blocks.len() > 10, "only {} blocks", blocks.len());
    let (last, before) = blocks.split_last().unwrap();
    for shell in Shell::all() {
        let ran = walk.run_in(shell, &before.concat()).await;
        all_well(&ran, 30);
        assert!(ran.out.contains("genuine evt_"), "{shell:?}: {}", ran.out);
        assert!(!ran.out.contains("forged"), "{shell:?}: {}", ran.out);
    }
    walk.is_covered().await;

    walk.process.signal("KILL");
    walk.process.ended().await;
    walk.process = Process::demo(walk.dir.path(), ":").await;
    // The reader's shell still has the CVU; the addresses are the same.
    let known = before.iter().flat_map(|block| block.lines());
    let known: Vec<_> = known.filter(|line| line.starts_with("CVU=")).collect();
    let again = [&blocks[0], known[0], "\n", last].concat();
    let ran = walk.run(&again).await;
    all_well(&ran, 2);
    // `jq` adds spaces.
    let out = ran.out.replace(' ', "");
    assert!(out.contains("\"covered\":true"), "{}", ran.out);
    walk.process.stop().await;
}

#[actix_web::test]
async fn what_dev_prints_runs_as_printed_and_each_request_has_its_line() {
    let mut walk = Walk::start().await;
    let printed = fs::read_to_string(walk.dir.path().join("out.txt")).unwrap();
    let commands = printed
        .lines()
        .skip_while(|line| !line.starts_with("  KEY="));
    let commands: Vec<_> = commands.take_while(|line| line.starts_with("  ")).collect();
    let ran = walk.run(&commands.join("\n")).await;
    all_well(&ran, 3);
    assert!(ran.out.contains("\"available\""), "{}", ran.out);
    let lines = [
        "  201  POST   /v1/accounts  ",
        "  200  GET    /v1/accounts/{cvu}/balance  ",
    ];
    // The log has the line only after the answer was sent.
    wait_until("each request has its line", SOON, async || {
        let log = walk.process.log();
        lines.iter().all(|line| log.contains(line)).then_some(())
    })
    .await;
    // An adjustment is money that no bank brought in; the collector account has enough for a first look.
    let client = walk.process.client.clone();
    client.in_and_out().await;
    let cvu = client.cvu().await;
    client.credit(&cvu, "999000.00").await;
    walk.is_covered().await;
    assert!(!walk.process.log().contains("the bank was called"));
    walk.process.stop().await;
}
