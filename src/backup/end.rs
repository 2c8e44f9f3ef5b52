//! The object `STORE/end`: which backup this is, and how far it was shipped.
//!
//! **Shape.** Lines of text: an id that is drawn when the backup begins, and the last commit with the hash of its
//! record.
//! ```text
//! backup 5a0c3e…
//! end 104 9b71f0…
//! ```
//! A service notes the id in its data folder ([`BackupChoices`]), and ships only to the backup with that id. Verification and
//! restore compare commit and hash with the objects.
//!
//! **Order.** It is written before the first object of a backup, and replaced after each object. So it never names a
//! commit that was not shipped; after an interruption it may name fewer commits than there are.
//!
//! **Failure.** If the object is missing or has another id, the destination is not the one that was chosen (a volume
//! that is not mounted, another disk): nothing is written. So too if the newest objects are missing.

use std::fmt::{Debug, Write as _};
use std::sync::Arc;

use caudal_storage::CommitNo;
use caudal_storage::log::{LogId, Tail};

use super::BackupError;
use super::backup_store::BackupStore;
use super::names::{END, hex, unhex};

/// The id of a backup.
pub type BackupId = [u8; 16];

/// The file in the data folder that notes the chosen backups.
pub const CHOSEN: &str = "backup.chosen";

/// Notes which backup a service ships to at each place.
pub trait BackupChoices: Debug + Send + Sync {
    /// The backup of a store that was chosen at a place; `None` if there was none.
    ///
    /// # Errors
    /// When the note cannot be read.
    fn chosen(&self, store: &LogId, place: &str) -> Result<Option<BackupId>, BackupError>;
    /// Notes the backup of a store that is chosen at a place.
    ///
    /// # Errors
    /// When the note cannot be written.
    fn choose(&self, store: &LogId, place: &str, id: &BackupId) -> Result<(), BackupError>;
}

/// The content of the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackupEnd {
    /// The id of the backup.
    pub id: BackupId,
    /// The last shipped commit with the hash of its record; `None` if there is none.
    pub reached: Option<Tail>,
}

impl BackupEnd {
    fn drawn() -> Result<Self, BackupError> {
        let mut id = [0; 16];
        let drawn = aws_lc_rs::rand::fill(&mut id);
        drawn.map_err(|_| BackupError::backup_store("beginning a backup", "no randomness"))?;
        Ok(Self { id, reached: None })
    }

    /// The name of a store's object.
    pub fn name_of(store: &LogId) -> String {
        format!("{}/{END}", hex(store))
    }

    /// Reads a store's object; `None` if there is none.
    ///
    /// # Errors
    /// When the backup store cannot be read, or the object is damaged.
    pub async fn read(
        backup_store: &dyn BackupStore,
        store: &LogId,
    ) -> Result<Option<Self>, BackupError> {
        let name = Self::name_of(store);
        let Some(bytes) = backup_store.get(&name).await? else {
            return Ok(None);
        };
        let end = std::str::from_utf8(&bytes).ok().and_then(Self::parse);
        let damaged = || BackupError::damaged(&name, 0, "it is not what was written");
        end.map(Some).ok_or_else(damaged)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let id = unhex(lines.next()?.strip_prefix("backup ")?)?;
        let reached = |line: &str| {
            let mut words = line.strip_prefix("end ")?.split(' ');
            let end = Tail {
                commit: CommitNo(words.next()?.parse().ok()?),
                hash: unhex(words.next()?)?,
            };
            words.next().is_none().then_some(end)
        };
        let reached = match lines.next() {
            Some(line) => Some(reached(line)?),
            None => None,
        };
        lines.next().is_none().then_some(Self { id, reached })
    }

    fn text(&self) -> String {
        let mut text = format!("backup {}\n", hex(&self.id));
        if let Some(Tail { commit, hash }) = &self.reached {
            // Writing to a String cannot fail.
            writeln!(text, "end {} {}", commit.0, hex(hash)).ok();
        }
        text
    }
}

/// The backup of a store to which a service ships.
#[derive(Debug)]
pub(super) struct Destination {
    /// Where it is.
    pub backup_store: Arc<dyn BackupStore>,
    /// The store that is shipped.
    pub store: LogId,
    /// The object's content as it was last read or written.
    written: BackupEnd,
    /// Whether it is chosen only now, so that it counts as it is.
    new: bool,
}

impl Destination {
    /// Finds the chosen backup; chooses the one that is there, or begins one, if none was chosen.
    ///
    /// # Errors
    /// When the chosen backup is not there, the backup store refuses an operation, or the choice cannot be read or noted.
    pub(super) async fn find(
        backup_store: &Arc<dyn BackupStore>,
        store: LogId,
        choice: &dyn BackupChoices,
    ) -> Result<Self, BackupError> {
        let backup_store = Arc::clone(backup_store);
        let place = backup_store.place();
        if let Some(id) = choice.chosen(&store, &place)? {
            let written = chosen(backup_store.as_ref(), &store, &id).await?;
            return Ok(Self {
                backup_store,
                store,
                written,
                new: false,
            });
        }
        backup_store.make()?;
        let name = BackupEnd::name_of(&store);
        let found = match BackupEnd::read(backup_store.as_ref(), &store).await {
            Ok(Some(end)) => Some(end),
            Ok(None) => {
                let text = BackupEnd::drawn()?.text();
                backup_store.put(&name, text.into_bytes()).await?;
                // Another node may have written it first.
                BackupEnd::read(backup_store.as_ref(), &store).await?
            }
            Err(BackupError::Damaged { .. }) => {
                let end = BackupEnd::drawn()?;
                backup_store.replace(&name, end.text().into_bytes()).await?;
                Some(end)
            }
            Err(why) => return Err(why),
        };
        let written = found.ok_or_else(|| absent(&place, &name))?;
        choice.choose(&store, &place, &written.id)?;
        Ok(Self {
            backup_store,
            store,
            written,
            new: true,
        })
    }

    /// The commit up to which there have to be objects; `None` if anything is accepted.
    pub(super) fn least(&self, shipped: Option<Tail>) -> Option<Tail> {
        let least = self.written.reached.into_iter().chain(shipped);
        least.max_by_key(|it| it.commit).filter(|_| !self.new)
    }

    /// Checks that the destination is still there.
    ///
    /// # Errors
    /// When it is not, or cannot be read.
    pub(super) async fn check(&self) -> Result<(), BackupError> {
        let found = chosen(self.backup_store.as_ref(), &self.store, &self.written.id);
        found.await.map(drop)
    }

    /// Replaces the object, if more was shipped than it says.
    ///
    /// # Errors
    /// When the destination is gone, or refuses the operation.
    pub(super) async fn reached(&mut self, tail: Tail) -> Result<(), BackupError> {
        let known = self.written.reached.map_or(CommitNo(0), |it| it.commit);
        if self.new && tail.commit < known {
            let (had, has) = (known.0, tail.commit.0);
            tracing::warn!(
                had,
                has,
                "the backup had more than it has; the rest is shipped again"
            );
        }
        let news = tail.commit > known || self.new;
        let end = BackupEnd {
            id: self.written.id,
            reached: Some(tail)
                .filter(|it| news && it.commit.0 > 0)
                .or(self.written.reached.filter(|_| !news)),
        };
        if end != self.written {
            // If the destination went away while an object was written, that object is elsewhere.
            self.check().await?;
            let name = BackupEnd::name_of(&self.store);
            self.backup_store
                .replace(&name, end.text().into_bytes())
                .await?;
            self.written = end;
        }
        self.new = false;
        Ok(())
    }
}

/// The object of the chosen backup.
async fn chosen(
    backup_store: &dyn BackupStore,
    store: &LogId,
    id: &BackupId,
) -> Result<BackupEnd, BackupError> {
    let (place, name) = (backup_store.place(), BackupEnd::name_of(store));
    let end = BackupEnd::read(backup_store, store).await?;
    let end = end.ok_or_else(|| absent(&place, &name))?;
    if end.id != *id {
        return Err(BackupError::Refused(format!(
            "{place} has another backup of this store than the one that was chosen: {name} there says backup {}, and \
             {CHOSEN} in the data folder says {}. Nothing was written. Bring the chosen one back; if this one is meant \
             to be used from now on, remove {CHOSEN}",
            hex(&end.id),
            hex(id)
        )));
    }
    Ok(end)
}

fn absent(place: &str, name: &str) -> BackupError {
    BackupError::Refused(format!(
        "{place} does not have the backup that was chosen: {name} is missing there. Is its volume mounted? Nothing was \
         written. Bring the backup back, and shipping continues; to begin a new one there, remove {CHOSEN} from the \
         data folder"
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use caudal_actors::records::projection::ServiceProjection;
    use caudal_storage::{Commit, DurableStore, Records, Store as _, StoreOptions};

    use super::*;
    use crate::backup_store::Listed;
    use crate::ship::{KnownBackup, ObjectLimits, Shipment};
    use crate::{backup_store, chain};

    #[derive(Debug, Default)]
    struct Chosen(Mutex<Option<BackupId>>);

    impl BackupChoices for Chosen {
        fn chosen(&self, _: &LogId, _: &str) -> Result<Option<BackupId>, BackupError> {
            Ok(*self.0.lock().unwrap())
        }

        fn choose(&self, _: &LogId, _: &str, id: &BackupId) -> Result<(), BackupError> {
            *self.0.lock().unwrap() = Some(*id);
            Ok(())
        }
    }

    /// Ships a round.
    async fn ship(
        backup_store: &Arc<dyn BackupStore>,
        records: &Records,
        chosen: &Chosen,
        shipment: &mut Option<Shipment>,
    ) -> Result<(), BackupError> {
        let mut ships = match shipment.take() {
            Some(shipment) => shipment,
            None => {
                let known = KnownBackup {
                    pepper_check: None,
                    choice: chosen,
                    shipped: None,
                };
                Shipment::begin(
                    backup_store,
                    records.clone(),
                    ObjectLimits::default(),
                    known,
                )
                .await?
            }
        };
        ships.begins_anew();
        while ships.step().await? {}
        *shipment = Some(ships);
        Ok(())
    }

    /// Takes all objects out of a backup store.
    async fn emptied(backup_store: &dyn BackupStore) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        for Listed { name, .. } in backup_store.list("").await.unwrap() {
            all.push((
                name.clone(),
                backup_store.get(&name).await.unwrap().unwrap(),
            ));
            backup_store.remove(&name).await.unwrap();
        }
        all
    }

    #[actix_web::test]
    async fn a_backup_store_without_its_objects_gets_none_until_they_are_back() {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions::small();
        let store = DurableStore::open(
            dir.path().join("store"),
            options,
            Arc::new(ServiceProjection),
        )
        .unwrap();
        let post = || {
            let (sender, done) = std::sync::mpsc::channel();
            let done_with = Box::new(move |it| sender.send(it).unwrap());
            store.submit(Commit::default(), done_with);
            done.recv().unwrap().unwrap()
        };
        let (place, chosen) = (dir.path().join("backups"), Chosen::default());
        let backup_store = backup_store::open(place.to_str().unwrap(), true).unwrap();
        let (records, mut shipment) = (store.records(), None);
        post();
        ship(&backup_store, &records, &chosen, &mut shipment)
            .await
            .unwrap();
        let all = emptied(backup_store.as_ref()).await;
        for _ in 0..2 {
            post();
            let why = ship(&backup_store, &records, &chosen, &mut shipment)
                .await
                .unwrap_err();
            assert!(why.to_string().contains("Nothing was written"), "{why}");
            assert!(emptied(backup_store.as_ref()).await.is_empty());
        }
        let back = async |wanted: &str| {
            for (name, bytes) in all.iter().filter(|(name, _)| name.contains(wanted)) {
                backup_store.put(name, bytes.clone()).await.unwrap();
            }
        };
        back("/end").await;
        let why = ship(&backup_store, &records, &chosen, &mut shipment)
            .await
            .unwrap_err();
        assert!(why.to_string().contains("which was shipped"), "{why}");
        back("").await;
        let last = post();
        ship(&backup_store, &records, &chosen, &mut shipment)
            .await
            .unwrap();
        let kept = chain::kept(backup_store.as_ref(), None, false)
            .await
            .unwrap();
        let found = chain::walk(
            backup_store.as_ref(),
            &kept,
            &mut |_, _| Ok(true),
            &mut |_| (),
        )
        .await;
        assert_eq!(found.unwrap().commits, last.0);
        store.close().unwrap();
    }

    #[test]
    fn the_content_is_read_as_it_was_written_and_nothing_else_is() {
        let mut end = BackupEnd::drawn().unwrap();
        assert_eq!(BackupEnd::parse(&end.text()), Some(end.clone()));
        end.reached = Some(Tail {
            commit: CommitNo(104),
            hash: [9; 32],
        });
        let text = end.text();
        assert_eq!(BackupEnd::parse(&text), Some(end));
        let wrong = [
            String::new(),
            text.replace("backup", "store"),
            text.replace("09", "0g"),
            text.replace(" 104", ""),
            text.replace("\nend", "\nelse"),
            text.replace(" 104 ", " 104 104 "),
            format!("{text}end 1 09\n"),
        ];
        for text in wrong {
            assert_eq!(BackupEnd::parse(&text), None, "{text}");
        }
    }
}
