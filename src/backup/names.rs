//! The names of objects, and the selection of those that make up a chain.
//!
//! **Bounds.** Names of other forms are ignored.

use std::fmt::Write as _;

use caudal_storage::CommitNo;
use caudal_storage::log::{Hash, LogId, Tail};

use super::backup_store::Listed;

/// The name of the digest by which a wrong pepper is recognised.
pub const PEPPER_CHECK: &str = "pepper.check";
/// The name of the object that says how far a store was shipped.
pub const END: &str = "end";
const ENDING: &str = ".zst";

/// The kind of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ObjectKind {
    /// Records since the last full object.
    Tail,
    /// A complete run of records, which gets no additions.
    Full,
}

impl ObjectKind {
    const fn word(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Full => "full",
        }
    }
}

/// An object with records, as its name describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedObject {
    /// Its whole name.
    pub name: String,
    /// Its kind.
    pub kind: ObjectKind,
    /// The first commit in it.
    pub first: u64,
    /// Its last commit, and the hash of its last record.
    pub end: Tail,
    /// Its size in bytes.
    pub size: u64,
}

/// Bytes as lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}

pub fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != N.checked_mul(2)? || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// The name of an object with these records.
pub fn name_of(store: &LogId, kind: ObjectKind, first: u64, end: &Tail) -> String {
    format!(
        "{}/{}/{first:020}-{:020}-{}{ENDING}",
        hex(store),
        kind.word(),
        end.commit.0,
        hex(&end.hash)
    )
}

/// The store of a listed name, if it is that of its object `end`.
pub fn parse_end(listed: &Listed) -> Option<LogId> {
    let (store, name) = listed.name.split_once('/')?;
    unhex(store).filter(|_| name == END)
}

/// The store and the object of a listed name; `None` if the name is of another form.
pub fn parse(listed: &Listed) -> Option<(LogId, NamedObject)> {
    let mut parts = listed.name.split('/');
    let store = unhex(parts.next()?)?;
    let kind = parts.next()?;
    let all = [ObjectKind::Tail, ObjectKind::Full];
    let kind = all.into_iter().find(|it| it.word() == kind)?;
    let mut rest = parts.next()?.strip_suffix(ENDING)?.split('-');
    let first: u64 = rest.next()?.parse().ok()?;
    let last: u64 = rest.next()?.parse().ok()?;
    let hash: Hash = unhex(rest.next()?)?;
    let end = Tail {
        commit: CommitNo(last),
        hash,
    };
    let found = NamedObject {
        name: listed.name.clone(),
        kind,
        first,
        end,
        size: listed.size,
    };
    let whole = name_of(&store, kind, first, &end) == listed.name;
    let whole = whole && first > 0 && (first..u64::MAX).contains(&last);
    whole.then_some((store, found))
}

/// A chain of objects from the first commit on.
#[derive(Clone, Default, Debug)]
pub struct Cover {
    /// The objects in order; each begins within the one before it or right after it.
    pub objects: Vec<NamedObject>,
    /// The first gap: commits that no object has although there are later ones.
    pub missing: Option<(u64, u64)>,
}

impl Cover {
    /// The longest unbroken chain through these objects, with as few as possible.
    pub fn of(mut objects: Vec<NamedObject>) -> Self {
        objects.sort_by_key(|it| (it.first, it.end.commit, it.kind));
        let mut cover = Self::default();
        let mut best: Option<NamedObject> = None;
        let mut need = 1;
        let mut rest = objects.into_iter().peekable();
        loop {
            while let Some(next) = rest.next_if(|it| it.first <= need) {
                let further = best
                    .as_ref()
                    .is_none_or(|it| (it.end.commit, it.kind) < (next.end.commit, next.kind));
                if further {
                    best = Some(next);
                }
            }
            match best.take().filter(|it| it.end.commit.0 >= need) {
                Some(found) => {
                    need = found.end.commit.0 + 1;
                    cover.objects.push(found);
                }
                None => break,
            }
        }
        let later = rest.peek();
        cover.missing = later.map(|it| (need, it.first - 1));
        cover
    }

    /// The end of the chain, according to the last name; `None` when it is empty.
    pub fn end(&self) -> Option<Tail> {
        self.objects.last().map(|it| it.end)
    }

    /// The size of its objects in bytes.
    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|it| it.size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: ObjectKind, first: u64, last: u64) -> NamedObject {
        let end = Tail {
            commit: CommitNo(last),
            hash: [7; 32],
        };
        let name = name_of(&[9; 16], kind, first, &end);
        let listed = Listed { name, size: 1 };
        parse(&listed).unwrap().1
    }

    #[test]
    fn a_name_says_what_it_said_and_others_are_passed_over() {
        let named = object(ObjectKind::Full, 1, 20);
        assert_eq!((named.first, named.end.commit.0), (1, 20));
        let wrong = [
            named.name.replace("full", "half"),
            named.name.replace(".zst", ".zst#1"),
            named.name.replace("00001-", "1-"),
            named.name.replacen("09", "zz", 1),
            format!("{}/x", named.name),
            "pepper.check".to_owned(),
            String::new(),
        ];
        for name in wrong {
            assert!(
                parse(&Listed {
                    name: name.clone(),
                    size: 1
                })
                .is_none(),
                "{name}"
            );
        }
    }

    #[test]
    fn a_cover_goes_as_far_as_objects_follow_each_other() {
        use ObjectKind::{Full, Tail};
        type Row<'a> = (
            &'a [(ObjectKind, u64, u64)],
            &'a [(u64, u64)],
            Option<(u64, u64)>,
        );
        let rows: &[Row<'_>] = &[
            (&[], &[], None),
            (&[(Full, 1, 9), (Tail, 10, 12)], &[(1, 9), (10, 12)], None),
            // A full object next to tails that were not removed yet.
            (
                &[(Tail, 1, 3), (Tail, 4, 9), (Full, 1, 9), (Tail, 10, 10)],
                &[(1, 9), (10, 10)],
                None,
            ),
            (&[(Full, 1, 9), (Tail, 5, 12)], &[(1, 9), (5, 12)], None),
            (&[(Full, 1, 9), (Tail, 12, 14)], &[(1, 9)], Some((10, 11))),
            (&[(Tail, 2, 3)], &[], Some((1, 1))),
        ];
        for (objects, expected, missing) in rows {
            let objects = objects.iter().map(|it| object(it.0, it.1, it.2));
            let cover = Cover::of(objects.collect());
            let found = cover.objects.iter().map(|it| (it.first, it.end.commit.0));
            assert_eq!(found.collect::<Vec<_>>(), *expected);
            assert_eq!(cover.missing, *missing);
        }
    }
}
