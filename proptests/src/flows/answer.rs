//! The answer to an operation, in plain words that book and machine share.

/// The answer that an operation should have, or the one that the rules gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// These movements were recorded now.
    Recorded(Vec<Line>),
    /// The operation had been done before, by the movement with this account number and sequence.
    Replayed(u64, u64),
    /// A rule refused it, with the stable word of the refusal.
    Refused(&'static str),
    /// A limit refused it.
    Limited(Breach),
    /// The external id belongs to the movement with this account number and sequence, and these
    /// fields differ.
    Reused(u64, u64, Vec<&'static str>),
    /// The money went to no account, for this reason.
    Parked(&'static str),
    /// Whether anything changed; there was no movement.
    Changed(bool),
    /// There was nothing to apply the operation to.
    Nothing,
}

/// A limit that would be exceeded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breach {
    pub limit: &'static str,
    pub level: &'static str,
    pub maximum: i128,
    pub used: i128,
    pub requested: i128,
    pub remaining: i128,
    /// When its window starts again.
    pub resets: Option<u64>,
}

/// A movement as a caller sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The number of its account.
    pub number: u64,
    pub sequence: u64,
    pub way: &'static str,
    pub amount: i128,
    pub available: i128,
    pub held: i128,
    pub code: String,
    pub key: Option<String>,
    /// The kind of thing that it belongs to, and the id of that thing: its kind, account number and
    /// sequence.
    pub kind: &'static str,
    pub refers: String,
    pub at: u64,
    pub ends: Option<u64>,
    /// For a release: when the amount that it returns was counted, and whether all of it returned.
    pub back: Option<(u64, bool)>,
}

impl Answer {
    /// The answer in one word, for counting.
    pub fn word(&self) -> String {
        match self {
            Self::Recorded(lines) if lines.iter().any(|line| line.code == "FEE_TAX") => {
                "recorded with a fee and its tax".to_owned()
            }
            Self::Recorded(lines) if lines.iter().any(|line| line.code == "FEE") => {
                "recorded with a fee".to_owned()
            }
            Self::Recorded(_) => "recorded".to_owned(),
            Self::Replayed(..) => "replayed".to_owned(),
            Self::Refused(code) => (*code).to_owned(),
            Self::Limited(breach) => format!("{} of {}", breach.limit, breach.level),
            Self::Reused(..) => "id_externo_reused".to_owned(),
            Self::Parked(why) => format!("parked: {why}"),
            Self::Changed(true) => "changed".to_owned(),
            Self::Changed(false) => "unchanged".to_owned(),
            Self::Nothing => "nothing".to_owned(),
        }
    }
}
