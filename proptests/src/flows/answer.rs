//! What an operation comes to, in plain words that book and machine share.

/// What an operation should answer, and what the rules did answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// These movements were recorded now.
    Recorded(Vec<Line>),
    /// It had been done before, by the movement of that account number and sequence.
    Replayed(u64, u64),
    /// A rule said no, with the stable word of the refusal.
    Refused(&'static str),
    /// A limit said no.
    Limited(Breach),
    /// The external id belongs to that account number and sequence, and these fields differ.
    Reused(u64, u64, Vec<&'static str>),
    /// Money that no account took, and why.
    Parked(&'static str),
    /// Something changed without any movement, or nothing did.
    Changed(bool),
    /// There was nothing to do it to.
    Nothing,
}

/// A limit that would be passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breach {
    pub limit: &'static str,
    pub level: &'static str,
    pub maximum: i128,
    pub used: i128,
    pub requested: i128,
    pub remaining: i128,
    /// When its window begins anew.
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
    /// What it belongs to, and the id of that: its kind, account number and sequence.
    pub kind: &'static str,
    pub refers: String,
    pub at: u64,
    pub ends: Option<u64>,
    /// What a release gives back: when it was counted, and whether all of it returned.
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
