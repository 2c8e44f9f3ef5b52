//! The errors of moving, comparing and healing a log.

use caudal_storage::log::Tail;
use caudal_storage::moving::{Compared, Difference, MovingError};
use caudal_storage::{OpenError, StoreError};

use super::Site;
use crate::service::StartError;

impl Site {
    /// The place of this cell's log, as people read it.
    pub(super) fn at(&self) -> String {
        match self.cell {
            0 => self.place.clone(),
            cell => format!("{}, cell {cell}", self.place),
        }
    }

    /// The folder never had a store.
    pub(super) fn storeless(&self) -> StartError {
        let data = self.data.display();
        match self.cell {
            0 => StartError::Setting(format!(
                "{data} holds no store: {data}/store/IDENTITY is missing. Name the folder that the service has as `data`"
            )),
            cell => refuse(format!(
                "{data} holds no store. Nothing was changed in it: if there is a cell {cell}, bring its folder back (is its \
                 volume mounted?)"
            )),
        }
    }

    /// The folder of a cell has another store than the first cell knows.
    pub(super) fn other_store(&self, there: &str, known: &str) -> StartError {
        refuse(format!(
            "{} holds the store {there}, and cell {} is {known}. Nothing was changed: bring back the right one",
            self.data.display(),
            self.cell
        ))
    }

    /// The log of a cell belongs to another store than the first cell knows.
    pub(super) fn other_log(&self, there: &str, known: &str) -> StartError {
        refuse(format!(
            "the log at {} is {there}, and cell {} is {known}: it is another installation's, or was begun anew. Nothing \
             was changed in it; name the database that has the logs of all cells",
            self.at(),
            self.cell
        ))
    }

    /// The folder has a cell that the first cell does not know.
    pub(super) fn unknown(&self) -> StartError {
        refuse(format!(
            "{} was begun, and the first cell does not know of it yet. Nothing was changed: start the service once with \
             storage.cells = {}, stop it, and run this again",
            self.data.display(),
            self.cell.strict_add(1)
        ))
    }

    /// The store continued from a backup under a history of its own, and a database has no room for two ids of one log.
    pub(super) fn own_history(&self) -> StartError {
        refuse(format!(
            "the store in {} is a history of its own, which went on from a backup of another store (--new-history). In a \
             database a log is known by the id of that other store: nodes and backups of both would take each other for \
             one, and what is held here would leave from the next node. So it stays on its disk. Nothing was changed. To \
             have what is in it in a database, bring its realms into the folder of a new service (`caudal realm export`, \
             `import`) and move that one's log; the newest state of the backup is moved after a restore without \
             --new-history",
            self.data.display()
        ))
    }

    /// The database already has the log, and nodes may own it.
    pub(super) fn in_force(&self, tail: Tail) -> StartError {
        refuse(format!(
            "the database at {} has the log of this store already, up to commit {}, and nodes may own it. Nothing was \
             changed. `caudal log compare` shows what {} has beside it; if that is a copy, start it with cell.log",
            self.at(),
            tail.commit.0,
            self.data.display()
        ))
    }

    /// The journal and the log do not fit together as the operation requires.
    pub(super) fn apart(&self, compared: Compared) -> StartError {
        let how = match compared.difference {
            Difference::Longer(count) => format!(
                "the journal has {count} records that the log lacks; `caudal log heal --from-local` appends them again"
            ),
            Difference::Differs { journal, .. } => format!(
                "from record {} on (commit {}) they have different records: two histories, of which a person has to \
                 choose one",
                journal.number, journal.first.0
            ),
            Difference::None | Difference::Behind(_) => "they agree".to_owned(),
        };
        refuse(format!(
            "the journal in {} and the log at {} are the same up to commit {}; {how}. Nothing was overwritten, and \
             `caudal log compare` shows more",
            self.data.display(),
            self.at(),
            compared.tail.commit.0
        ))
    }

    /// Another node owns the cell.
    pub(super) fn owned(&self, owner: Option<&str>) -> StartError {
        let owner = owner.map_or(String::new(), |owner| format!(" ({owner})"));
        let why = format!(
            "it has an owner{owner}: stop all nodes first, and run this again. Nothing was changed in it"
        );
        StartError::io(
            format!("taking the cell at {}", self.at()),
            std::io::Error::other(why),
        )
    }

    /// The log has changed since it was compared.
    pub(super) fn meanwhile(&self) -> StartError {
        let what = format!("comparing {} with the log", self.data.display());
        let why = "somebody has appended to the log meanwhile. Stop all nodes, and run this again";
        StartError::io(what, std::io::Error::other(why))
    }

    /// The error of a failed comparison or fill.
    pub(super) fn failed(&self, why: MovingError) -> StartError {
        match why {
            MovingError::Log(why) => OpenError::Log(why).into(),
            MovingError::Journal(why) => journal(why),
            MovingError::Apart(tail) => refuse(format!(
                "the log at {} ends with commit {}: the log's last record is not in this journal, {}, so the log is not a \
                 prefix of it. Nothing was changed; `caudal log compare` shows where they part",
                self.at(),
                tail.commit.0,
                self.data.display()
            )),
        }
    }
}

/// An error that a person has to resolve.
pub(super) fn refuse(why: String) -> StartError {
    StartError::from(OpenError::NotAStore(why))
}

/// A failure of the folder's own store.
pub(super) fn journal(why: StoreError) -> StartError {
    match why {
        StoreError::Corrupt(why) => OpenError::Corrupt(why).into(),
        why => StartError::io("using the folder's store", std::io::Error::other(why)),
    }
}
