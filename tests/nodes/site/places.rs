//! The place of a site's log: the folder of its only node, or the database.

use std::fs::{self, File};
use std::process::Stdio;

use super::{Host, LONG, Site};
use crate::cli::{Going, caudal};
use crate::support::bank::Bank;
use crate::support::wait_until;

impl Site {
    /// Starts one node whose log is in its folder, and clients that post until the end; the log may later move into
    /// this database, and then other nodes may join.
    pub async fn on_disk(log: String, bank: Bank, hosts: Vec<Host>) -> Self {
        let mut site = Self::empty(log, bank, hosts);
        site.elsewhere = false;
        site.all(1).await;
        site
    }

    /// Stops the only node, moves its log into the database or back to its folder, and starts it again. Clients
    /// retry in the meantime.
    pub async fn moves(&mut self, into_the_database: bool) {
        assert_eq!(self.there().collect::<Vec<_>>(), [0]);
        self.stop(0).await;
        let settings = self.settings(0);
        let to = match into_the_database {
            true => self.log.clone(),
            false => "disk".to_owned(),
        };
        let said = self.dir.path().join("move.log");
        let mut moving = caudal(&["log", "move", "--to", &to, "--config"]);
        let moving = moving.arg(settings).stdout(Stdio::null());
        let moving = moving.stderr(File::create(&said).unwrap()).spawn();
        let mut moving = Going(moving.unwrap());
        let ended = wait_until("it is moved", LONG, async || moving.0.try_wait().unwrap());
        let ended = ended.await;
        assert!(ended.success(), "{}", fs::read_to_string(said).unwrap());
        self.elsewhere = into_the_database;
        self.begin(0).await;
    }
}
