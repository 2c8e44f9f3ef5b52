//! The process itself: its signals, its limits, and the files that it leaves where others might look.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use tempfile::TempDir;

use crate::support::processes::signal;
use crate::support::{Client, SOON, Value, canary, wait_until};

/// The admin key of a `caudal serve` here.
const ADMIN_KEY: &str = "kJ3mN8pQ2rT5vX9zA4cE7gH1jL6bD0fW";

/// A separate process, with its output.
pub struct Process {
    pub child: Child,
    pub client: Client,
    out: PathBuf,
    errors: PathBuf,
}

/// A command that the shell runs after `before`, which sets limits of the process.
fn command(before: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let line = format!("{before}; exec \"$0\" \"$@\"");
    command
        .arg("-c")
        .arg(line)
        .arg(env!("CARGO_BIN_EXE_caudal"));
    command.args(arguments).stdin(Stdio::null());
    // Variables of the environment that runs the tests would be settings.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CAUDAL_") {
            command.env_remove(name);
        }
    }
    command
}

/// Writes settings with which `caudal serve` starts on free ports, and these additional ones.
fn settings(dir: &Path, more: &str) -> PathBuf {
    let file = dir.join("caudal.toml");
    let data = dir.join("data");
    let text = format!(
        "data = {data:?}\nlisten = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"\n\
         admin_key = \"{ADMIN_KEY}\"\nbank_catch_up_seconds = 0\ntreasury_check_seconds = 0\n{more}\n[bank.live]\n\
         base_url = \"https://bank.invalid\"\nusername = \"u\"\npassword = \"p\"\n\
         collector = \"3220001805007351350083\"\n\
         notice_secret = \"zA4cE7gH1jL6bD0fWkJ3mN8pQ2rT5vX9\"\n"
    );
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    file
}

impl Process {
    /// Starts a process and waits until it accepts requests.
    async fn start(dir: &Path, before: &str, arguments: &[&str]) -> Self {
        let (out, errors) = (dir.join("out.txt"), dir.join("errors.txt"));
        let mut command = command(before, arguments);
        command.stdout(fs::File::create(&out).unwrap());
        command.stderr(fs::File::create(&errors).unwrap());
        let mut process = Self {
            child: command.spawn().unwrap(),
            client: Client::new("", None),
            out,
            errors,
        };
        let ready = async || {
            let ended = process.child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", process.log());
            let client = process.dev(dir).or_else(|| process.served())?;
            let answer = client.get("/readyz").answer().await?;
            (answer.status == 200).then_some(client)
        };
        process.client = wait_until("the service runs", SOON, ready).await;
        process
    }

    /// Starts `caudal serve`.
    pub async fn serve(dir: &Path, before: &str) -> Self {
        Self::serve_with(dir, before, "").await
    }

    /// Starts `caudal serve` with additional settings.
    pub async fn serve_with(dir: &Path, before: &str, more: &str) -> Self {
        let file = settings(dir, more);
        Self::start(dir, before, &["serve", "--config", file.to_str().unwrap()]).await
    }

    /// Runs a `caudal serve` that cannot start; returns how it ended, and what it wrote on standard
    /// error.
    pub fn serve_in_vain(dir: &Path, before: &str, more: &str) -> (Option<i32>, String) {
        let file = settings(dir, more);
        let ended = command(before, &["serve", "--config", file.to_str().unwrap()]).output();
        let ended = ended.unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        canary::reads("a start in vain", &said);
        (ended.status.code(), said)
    }

    /// Starts `caudal dev`; its client has the key of its test realm.
    pub async fn demo(dir: &Path, before: &str) -> Self {
        let data = dir.join("data");
        let free = "127.0.0.1:0";
        let arguments = [
            "dev",
            "--listen",
            free,
            "--admin-listen",
            free,
            "--bank-listen",
            free,
            "--data",
            data.to_str().unwrap(),
        ];
        Self::start(dir, before, &arguments).await
    }

    /// The address and key that a `caudal dev` has written down.
    fn dev(&self, dir: &Path) -> Option<Client> {
        let reply = fs::read(dir.join("data/dev.json")).ok()?;
        let reply: Value = serde_json::from_slice(&reply).ok()?;
        Some(Client::new(
            reply["url"].as_str()?,
            Some(reply["testKey"].as_str()?),
        ))
    }

    /// The address that a `caudal serve` has logged.
    fn served(&self) -> Option<Client> {
        let log = self.log();
        let mut lines = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let reply = lines.find(|line| line["message"] == "takes requests")?;
        Some(Client::new(reply["url"].as_str()?, None))
    }

    /// A client of the admin listener of a `caudal serve`, and the admin key.
    pub fn admin(&self) -> (Client, &'static str) {
        let log = self.log();
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut found = lines.filter(|line| line["message"] == "takes requests");
        let place = found.next().unwrap()["admin"].as_str().unwrap().to_owned();
        (Client::new(&place, None), ADMIN_KEY)
    }

    /// Everything that it has written on standard error.
    pub fn log(&self) -> String {
        // Not read as UTF-8: the process may have been killed in the middle of a character.
        String::from_utf8_lossy(&fs::read(&self.errors).unwrap()).into_owned()
    }

    pub fn signal(&self, name: &str) {
        assert!(signal(self.child.id(), name));
    }

    /// A value from `/proc`, in KiB.
    pub fn status(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = fs::read_to_string(path).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let figure = line.unwrap().trim_start_matches(':').trim();
        figure.trim_end_matches(" kB").parse().unwrap()
    }

    /// How many descriptors it has open.
    pub fn descriptors(&self) -> usize {
        let path = format!("/proc/{}/fd", self.child.id());
        fs::read_dir(path).unwrap().count()
    }

    pub async fn ended(&mut self) -> ExitStatus {
        wait_until("the process ends", SOON, async || {
            self.child.try_wait().unwrap()
        })
        .await
    }

    pub async fn stop(&mut self) {
        self.signal("TERM");
        let status = self.ended().await;
        assert!(status.success(), "{status}: {}", self.log());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // If the test went well, the process has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
        if !std::thread::panicking() {
            canary::reads("a process", &self.log());
        }
    }
}

/// All files and folders below this one that others than their owner may access.
fn shared(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let known = fs::symlink_metadata(&path).unwrap();
        if known.mode() & 0o077 != 0 {
            found.push((path.clone(), known.mode() & 0o777));
        }
        if known.is_dir() {
            found.extend(shared(&path));
        }
    }
    found
}

#[actix_web::test]
async fn signals_of_others_end_nothing_and_what_is_left_is_private() {
    let dir = TempDir::new().unwrap();
    let mut process = Process::serve(dir.path(), "umask 022; ulimit -c unlimited").await;
    for signal in ["HUP", "USR1", "USR2", "HUP"] {
        process.signal(signal);
    }
    wait_until("the signals are seen", SOON, async || {
        (process.log().matches("ignored: settings").count() >= 3).then_some(())
    })
    .await;
    process.client.get("/readyz").await.is(200);
    assert!(
        process.log().contains("others can read the settings"),
        "{}",
        process.log()
    );
    // A huge page counts whole while a byte of it is used.
    assert_eq!(process.status("THP_enabled"), 0);
    let limits = fs::read_to_string(format!("/proc/{}/limits", process.child.id())).unwrap();
    let cores = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let cores: Vec<_> = cores.unwrap().split_whitespace().collect();
    assert_eq!(cores[4..6], ["0", "0"]);
    process.stop().await;
    assert_eq!(shared(&dir.path().join("data")), []);
    // The address of a service in the environment does not keep a folder from being verified.
    let data = dir.path().join("data");
    let mut verify = command(":", &["verify", "--data", data.to_str().unwrap()]);
    let verified = verify
        .env("CAUDAL_ADMIN_URL", "http://127.0.0.1:9")
        .output()
        .unwrap();
    assert!(
        verified.status.success(),
        "{}",
        String::from_utf8_lossy(&verified.stderr)
    );
}

#[actix_web::test]
async fn a_demo_shows_its_keys_only_on_a_terminal() {
    let dir = TempDir::new().unwrap();
    let mut process = Process::demo(dir.path(), "umask 022").await;
    // It prints this after it has begun to accept requests.
    let said = wait_until("it says where the keys are", SOON, async || {
        let said = fs::read_to_string(&process.out).unwrap();
        said.contains("dev.json").then_some(said)
    })
    .await;
    let reply: Value =
        serde_json::from_slice(&fs::read(dir.path().join("data/dev.json")).unwrap()).unwrap();
    for name in ["testKey", "liveKey", "adminKey"] {
        assert!(!said.contains(reply[name].as_str().unwrap()), "{said}");
    }
    assert!(said.contains(reply["url"].as_str().unwrap()), "{said}");
    process.client.cvu().await;
    assert_eq!(process.status("THP_enabled"), 0);
    process.stop().await;
    assert_eq!(shared(&dir.path().join("data")), []);
}

#[actix_web::test]
async fn too_few_descriptors_are_a_sentence() {
    let dir = TempDir::new().unwrap();
    for limit in [40, 100, 300] {
        let limit = format!("ulimit -n {limit}");
        let (code, said) = Process::serve_in_vain(dir.path(), &limit, "");
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("LimitNOFILE") && !said.contains("panicked"),
            "{said}"
        );
    }
}
