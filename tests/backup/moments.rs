//! A depot that remembers its content after each change.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use caudal::backup::BackupError;
use caudal::backup::chain;
use caudal::backup::depot::{Depot, Later, Listed};
use caudal::backup::verify::follow;

/// Objects by their names.
type Objects = BTreeMap<String, Arc<Vec<u8>>>;

/// A depot in memory that remembers its content after each change.
#[derive(Debug, Default)]
pub struct Remembering {
    moments: Mutex<Vec<Objects>>,
    /// It refuses objects with this in their names.
    refuses: Option<&'static str>,
}

impl Remembering {
    /// A depot that refuses objects with this in their names.
    pub fn refusing(part: &'static str) -> Self {
        Self {
            refuses: Some(part),
            ..Self::default()
        }
    }

    /// Checks the content after each change, as a restore would: all cells fit together. Returns how many of these
    /// moments there were.
    pub async fn fits_at_every_moment(&self) -> usize {
        let moments = self.moments.lock().unwrap().clone();
        let mut seen = 0;
        for objects in moments {
            let depot = Self::at(objects);
            let Ok(whole) = chain::whole(&depot, None, false).await else {
                assert_eq!(seen, 0, "the first cell comes first");
                continue;
            };
            let found = follow(&depot, &whole, &mut |_| ()).await;
            assert!(found.is_ok(), "moment {seen}: {found:?}");
            seen += 1;
        }
        seen
    }

    /// Writes the present content into a folder, which is then a depot.
    pub fn write_to(&self, place: &Path) {
        for (name, bytes) in self.now() {
            let file = place.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes.as_slice()).unwrap();
        }
    }

    fn now(&self) -> Objects {
        self.moments
            .lock()
            .unwrap()
            .last()
            .cloned()
            .unwrap_or_default()
    }

    fn change(&self, change: impl FnOnce(&mut Objects)) {
        let mut now = self.now();
        change(&mut now);
        self.moments.lock().unwrap().push(now);
    }

    /// A depot with the content of one moment.
    fn at(objects: Objects) -> Self {
        Self {
            moments: Mutex::new(vec![objects]),
            refuses: None,
        }
    }
}

impl Depot for Remembering {
    fn place(&self) -> String {
        "memory".to_owned()
    }

    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> Later<'a, ()> {
        Box::pin(async move {
            if self.refuses.is_some_and(|part| name.contains(part)) {
                return Err(BackupError::depot(name, "refused"));
            }
            self.change(|now| {
                now.entry(name.to_owned())
                    .or_insert_with(|| Arc::new(bytes));
            });
            Ok(())
        })
    }

    fn replace<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> Later<'a, ()> {
        Box::pin(async move {
            self.change(|now| drop(now.insert(name.to_owned(), Arc::new(bytes))));
            Ok(())
        })
    }

    fn has<'a>(&'a self, name: &'a str) -> Later<'a, bool> {
        Box::pin(async move { Ok(self.now().contains_key(name)) })
    }

    fn get<'a>(&'a self, name: &'a str) -> Later<'a, Option<Vec<u8>>> {
        Box::pin(async move { Ok(self.now().get(name).map(|bytes| bytes.to_vec())) })
    }

    fn list<'a>(&'a self, prefix: &'a str) -> Later<'a, Vec<Listed>> {
        let now = self.now();
        let named = now.iter().filter(move |(name, _)| name.starts_with(prefix));
        let listed = named.map(|(name, bytes)| Listed {
            name: name.clone(),
            size: u64::try_from(bytes.len()).unwrap(),
        });
        let listed: Vec<_> = listed.collect();
        Box::pin(async move { Ok(listed) })
    }

    fn remove<'a>(&'a self, name: &'a str) -> Later<'a, ()> {
        Box::pin(async move {
            self.change(|now| drop(now.remove(name)));
            Ok(())
        })
    }
}
