//! Events keep their numbers for ever: a golden journal, and its events under a later program.
//!
//! `golden/journal.txt` has one entry on each line, as the first program wrote it: commit, realm, kind and number of
//! the stream, sequence, milliseconds, bytes. `golden/events.txt` has the events that this program published: number,
//! id, kind. Neither file is ever edited. If a change of the projection makes this test fail, the change is wrong:
//! events need a new rule set.

use caudal_ledger::events::rules::{EventRules, FIRST, RuleSets, TAGGED};
use caudal_ledger::events::{Event, EventKind, EventKinds};
use caudal_ledger::facts::{AccountFact, RealmFact};
use caudal_storage::{
    Commit, CommitNo, Entry, Fact, Index, IndexWriter, Position, Projection, SortOrder, Store,
    StreamId,
};

use super::*;
use crate::accounts::ChangeProfile;
use crate::realms::{CreateType, Register};
use crate::records::projection;
use crate::records::{self, REALM as REALM_KIND};

const JOURNAL: &str = include_str!("golden/journal.txt");
const EVENTS: &str = include_str!("golden/events.txt");
/// The realm of the golden journal.
const GOLDEN: RealmId = RealmId(2);

/// Rules of a possible later program: no suspensions, but requests to change an alias.
const LATER: EventRules = EventRules {
    account: |fact| match fact {
        AccountFact::Suspended { .. } => None,
        AccountFact::AliasRequested { .. } => Some(EventKind::AccountUpdated),
        fact => EventKind::of_account(fact),
    },
    ..TAGGED
};
/// Rules of a possible still later one.
const LAST: EventRules = EventRules {
    account: |_| None,
    hold: |_, _| None,
    transfer: |_, _, _| None,
    realm: |_| None,
    tagged: false,
};
const ONE: RuleSets = RuleSets::new(&[FIRST]);
const TWO: RuleSets = RuleSets::new(&[FIRST, LATER]);
const THREE: RuleSets = RuleSets::new(&[FIRST, LATER, LAST]);

fn bytes(hex: &str) -> Vec<u8> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    assert!(rest.is_empty(), "{hex}");
    let byte = |pair: &[u8; 2]| {
        let pair = std::str::from_utf8(pair).unwrap();
        u8::from_str_radix(pair, 16).unwrap()
    };
    pairs.iter().map(byte).collect()
}

/// The commits of a journal in text form.
fn commits(text: &str) -> Vec<(CommitNo, Entry)> {
    let entry = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        let stream = StreamId {
            realm: u32::try_from(number(1)).unwrap(),
            kind: u8::try_from(number(2)).unwrap(),
            number: number(3),
        };
        let entry = Entry {
            stream,
            seq: number(4),
            at: number(5),
            body: bytes(words[6]),
            fact: Fact::default(),
        };
        (CommitNo(number(0)), entry)
    };
    text.lines().map(entry).collect()
}

/// All entries of a store, with their commits.
pub(super) fn journal(store: &dyn Index) -> Vec<(CommitNo, Entry)> {
    let mut all = Vec::new();
    let keep = &mut |commit, entry: &Entry| {
        all.push((commit, entry.clone()));
        true
    };
    store.replay(CommitNo(1), keep).unwrap();
    all
}

/// The projection of a program that has these sets of event rules.
struct ProjectionUnder(RuleSets);

impl Projection for ProjectionUnder {
    fn version(&self) -> u32 {
        ServiceProjection.version()
    }

    fn project(
        &self,
        entry: &Entry,
        position: Position,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        projection::project(self.0, entry, position, index)
    }
}

/// A store whose index is built from these entries from the start, as by a rebuild.
pub(super) fn rebuilt(
    entries: &[(CommitNo, Entry)],
    rows: impl Projection,
) -> Result<Arc<FaultyStore>, StoreError> {
    let store = FaultyStore::new(Arc::new(rows), 1);
    store.set_automatic(true);
    for commit in entries.chunk_by(|(one, _), (other, _)| one == other) {
        let entries = commit.iter().map(|(_, entry)| entry.clone()).collect();
        let hints = Vec::new();
        let (sender, done) = std::sync::mpsc::channel();
        let ended = Box::new(move |done| sender.send(done).unwrap());
        store.submit(
            Commit {
                entries,
                hints,
                ..Commit::default()
            },
            ended,
        );
        done.recv().unwrap()?;
    }
    Ok(store)
}

fn over(store: &Arc<FaultyStore>, event_rules: u16) -> Engine {
    over_from(store, event_rules, 0)
}

/// A service whose clock begins this many milliseconds later.
fn over_from(store: &Arc<FaultyStore>, event_rules: u16, later: u64) -> Engine {
    let bank = |_: &crate::banks::Relation| {
        let bank: Arc<dyn BankGateway> = Arc::<TestBank>::default();
        Ok(bank)
    };
    let options = EngineOptions {
        arbiters: 0,
        event_rules,
        ..EngineOptions::default()
    };
    let clock = Arc::new(TestClock(later.into()));
    Engine::start(
        Arc::<FaultyStore>::clone(store),
        clock,
        Arc::new(bank),
        options,
    )
    .unwrap()
}

async fn events(engine: &Engine, realm: RealmId) -> Vec<Event> {
    let every = EventKinds::EVERY;
    let found = engine.queries().events(realm, 0, every, 10_000).await;
    found.unwrap().items
}

/// Numbers, ids and kinds, in text form.
fn described(events: &[Event]) -> Vec<String> {
    let line = |e: &Event| format!("{} {} {}", e.id.number, e.id, e.kind.as_str());
    events.iter().map(line).collect()
}

/// The numbers of the rule sets that a realm has adopted.
fn taken_up(store: &FaultyStore, realm: RealmId) -> Vec<(u64, u16)> {
    let stream = records::realm_stream(realm, REALM_KIND);
    let facts = store.read(stream, 1, u64::MAX, SortOrder::Ascending, usize::MAX);
    let facts = facts.unwrap().into_iter();
    let number = |entry: Entry| match records::decode(&entry.body).unwrap() {
        RealmFact::EventRules { number } => Some((entry.seq, number)),
        _ => None,
    };
    facts.filter_map(number).collect()
}

#[actix::test]
async fn the_golden_journal_gives_the_ids_that_it_always_gave() {
    let store = rebuilt(&commits(JOURNAL), ServiceProjection).unwrap();
    let engine = over(&store, ONE.newest());
    let all = described(&events(&engine, GOLDEN).await);
    let golden: Vec<_> = EVENTS.lines().collect();
    assert!(all.len() >= golden.len() && golden.len() == 72);
    assert_eq!(all[..golden.len()], golden);
    assert_eq!(taken_up(&store, GOLDEN), [], "the first set is never named");
    // The control: the first set, edited in place, gives other numbers.
    let edited = rebuilt(&commits(JOURNAL), ProjectionUnder(RuleSets::new(&[LATER]))).unwrap();
    let edited = described(&events(&over(&edited, 1), GOLDEN).await);
    assert_ne!(edited[..golden.len().min(edited.len())], golden);
}

#[actix::test]
async fn other_rules_count_from_where_the_realm_took_them_up_and_never_before() {
    let golden: Vec<_> = EVENTS.lines().collect();
    let store = rebuilt(&commits(JOURNAL), ProjectionUnder(TWO)).unwrap();
    let engine = over(&store, TWO.newest());
    let cause = registration();
    let alias = Alias::parse("una.primera").ok();
    let opened = engine
        .ledger()
        .order(
            GOLDEN,
            Register {
                registration: cause,
                open: true,
                alias,
            },
            plain(),
        )
        .await;
    let Ok(Given::Value(opened)) = opened else {
        panic!("{opened:?}");
    };
    let account = Target::Account(opened.account.number);
    let suspend = ProfileOrder::Suspend {
        reason: "x".into(),
        code: SuspensionCode::Other,
    };
    let other = ProfileOrder::SetAlias(Alias::parse("otra.segunda").unwrap());
    for order in [suspend, ProfileOrder::Reactivate, other] {
        let done = engine
            .ledger()
            .order(GOLDEN, ChangeProfile::new(account, order), plain())
            .await;
        done.unwrap();
    }
    // A realm that begins under the later rules, too.
    let create = PlatformOrder::CreateTenant(NewTenant::plain("tnt_new"));
    let platform = engine.operators().administer(create).await;
    let new = platform.unwrap().tenants["tnt_new"].test;
    assert_eq!(taken_up(&store, new), [(1, 2)]);
    assert_eq!(taken_up(&store, GOLDEN).len(), 1);

    let all = events(&engine, GOLDEN).await;
    assert_eq!(described(&all)[..golden.len()], golden);
    let number = opened.account.number;
    let own = all.iter().filter(|event| event.account == number);
    let kinds: Vec<_> = own.map(|event| event.kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "account.created",
            "account.reactivated",
            "account.updated",
            "account.alias.updated"
        ]
    );
    drop(engine);
    // Every later start and rebuild gives the same, also under a program that knows more sets.
    let entries = journal(store.as_ref());
    for sets in [TWO, THREE] {
        let again = rebuilt(&entries, ProjectionUnder(sets)).unwrap();
        let (report, _) = verify::under(sets, again.as_ref()).unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
        let found = events(&over(&again, 2), GOLDEN).await;
        assert_eq!(found[..all.len()], all);
        assert_eq!(taken_up(&again, GOLDEN).len(), 1);
    }
    // An older program does not guess.
    let why = rebuilt(&entries, ProjectionUnder(ONE)).unwrap_err();
    assert!(why.to_string().contains("a newer version wrote"), "{why}");
}

#[actix::test]
async fn two_histories_of_one_past_have_no_other_id_in_common() {
    const YEARS: u64 = 100_000_000_000;
    let golden: Vec<_> = EVENTS.lines().map(str::to_owned).collect();
    let mut published = Vec::new();
    for (history, later) in [(1, YEARS), (2, YEARS + 5_000)] {
        let store = rebuilt(&commits(JOURNAL), ServiceProjection).unwrap();
        let engine = over_from(&store, RuleSets::ALL.newest(), later);
        let alias = Alias::parse(&format!("historia.{history}")).ok();
        let opened = engine.ledger().order(
            GOLDEN,
            Register {
                registration: registration(),
                open: true,
                alias,
            },
            plain(),
        );
        let Ok(Given::Value(opened)) = opened.await else {
            panic!("not opened");
        };
        let account = Target::Account(opened.account.number);
        let suspend = ProfileOrder::Suspend {
            reason: format!("in history {history}"),
            code: SuspensionCode::Other,
        };
        for order in [suspend, ProfileOrder::Reactivate] {
            let done = engine
                .ledger()
                .order(GOLDEN, ChangeProfile::new(account, order), plain())
                .await;
            done.unwrap();
        }
        let credit = CreateVoucherType {
            code: TypeCode::parse(&format!("HISTORY_{history}")).unwrap(),
            name: "A type of one history".into(),
            sense: Sense::Credit,
            description: None,
            category: None,
            counter_account: None,
            capture_tolerance: None,
        };
        engine
            .ledger()
            .order(GOLDEN, CreateType(credit), plain())
            .await
            .unwrap();
        let all = described(&events(&engine, GOLDEN).await);
        assert_eq!(all[..golden.len()], golden);
        drop(engine);
        // The same after a rebuild.
        let again = rebuilt(&journal(store.as_ref()), ServiceProjection).unwrap();
        assert_eq!(
            described(&events(&over_from(&again, 2, later), GOLDEN).await),
            all
        );
        published.push(all[golden.len()..].to_vec());
    }
    let id = |line: &String| line.split(' ').nth(1).unwrap().to_owned();
    let numbers = |all: &[String]| all.iter().filter_map(|line| line.split(' ').next()).count();
    let [one, other] = published.as_slice() else {
        panic!("two histories");
    };
    assert_eq!((numbers(one), numbers(other)), (4, 4), "{one:?}");
    let known: Vec<_> = one.iter().map(id).collect();
    assert!(
        other.iter().map(id).all(|id| !known.contains(&id)),
        "{one:?} {other:?}"
    );
}
