//! Transfers and money from the bank in the naive book.

use super::WORLD;
use super::answer::Answer;
use super::book::{Book, Chapter, Deed, Event, State, Tale};
use super::ops::{Part, Pick, To, Word};
use super::orders::seen;

impl Book {
    /// A transfer: done at once inside the realm, and through the bank to anywhere else.
    pub(super) fn send(&mut self, from: usize, to: To, key: Option<usize>, pick: Pick) -> Answer {
        let inside = match to {
            To::Account(other) if WORLD[other].0 == WORLD[from].0 => Some(other),
            To::Account(_) | To::Outside(_) => None,
        };
        self.turn(from);
        if let Some(other) = inside.filter(|other| *other != from) {
            self.turn(other);
        }
        let amount = self.resolve(from, pick);
        let key = self.resolve_key(key);
        if inside == Some(from) {
            let refused = self.may_send(from).err();
            return refused.unwrap_or(Answer::Refused("same_account"));
        }
        let realm = WORLD[from].0;
        let mut before = self.deeds.iter();
        if let Some(deed) = before.find(|d| WORLD[d.from].0 == realm && d.key == key) {
            let differs = [
                ("fromCvu", deed.from != from),
                ("to", deed.to != to),
                ("amount", deed.amount != amount),
            ];
            return seen(WORLD[deed.from].1, deed.first, &differs);
        }
        let mark = self.mark();
        let code = if inside.is_some() {
            "INTERNAL_P2P_OUT"
        } else {
            "TRANSFER_OUT"
        };
        let (fee, tax) = self.charges(from, code, amount);
        self.deeds.push(Deed {
            from,
            first: mark[from],
            to,
            inside: inside.is_some(),
            amount,
            fee,
            tax,
            key,
            story: Vec::new(),
        });
        let done = match inside {
            Some(other) => self.inside(from, other),
            None => self.request(from),
        };
        if done.is_err() {
            self.deeds.pop();
        }
        self.close(&mark, done)
    }

    /// Books both halves, or neither: the receiving account is checked first.
    fn inside(&mut self, from: usize, to: usize) -> Result<(), Answer> {
        let deed = self.deeds.len() - 1;
        let (amount, key) = (self.deeds[deed].amount, self.deeds[deed].key.clone());
        match self.purses[to].state {
            State::Registered | State::Void => {
                return Err(Answer::Refused("destination_not_found"));
            }
            State::Closed => return Err(Answer::Refused("destination_closed")),
            State::Active | State::Suspended => self.may_come(to, amount)?,
        }
        let half = |book: &Self, way, code| Event {
            key: Some(key.clone()),
            ..book.event(way, amount, code, Tale::Inside(deed))
        };
        let into = half(self, "credit", "INTERNAL_P2P_IN");
        self.put(to, into).map_err(Answer::Refused)?;
        self.charge_if_covered(to);
        self.may_send(from)?;
        self.may_leave(from, amount)?;
        let out = half(self, "debit", "INTERNAL_P2P_OUT");
        self.put(from, out).map_err(Answer::Refused)?;
        self.charge(from)
    }

    /// Holds the amount and its fees.
    fn request(&mut self, from: usize) -> Result<(), Answer> {
        let deed = self.deeds.len() - 1;
        let Deed {
            amount, fee, tax, ..
        } = self.deeds[deed];
        self.may_send(from)?;
        self.may_leave(from, amount)?;
        let event = Event {
            key: Some(self.deeds[deed].key.clone()),
            ..self.event("hold", amount, "HOLD", Tale::Bank(deed))
        };
        self.put(from, event).map_err(Answer::Refused)?;
        if fee + tax > 0 {
            let event = self.event("hold", fee + tax, "HOLD", Tale::FeeOfTransfer(deed));
            self.put(from, event).map_err(Answer::Refused)?;
        }
        Ok(())
    }

    /// The chosen transfer, counted back from the newest.
    fn deed(&mut self, newest: usize) -> Option<usize> {
        let deed = self.deeds.len().checked_sub(newest + 1)?;
        self.target = Some((self.deeds[deed].from, self.deeds[deed].first));
        self.turn(self.deeds[deed].from);
        Some(deed)
    }

    /// The bank reports something: only the end of a transfer moves money, and only once.
    pub(super) fn word(&mut self, newest: usize, word: Word, rail: bool) -> Answer {
        let Some(deed) = self.deed(newest) else {
            return Answer::Nothing;
        };
        if !self.deeds[deed].is_open() {
            return Answer::Changed(false);
        }
        match word {
            Word::Moving => self.heard(deed, Chapter::Moving(true, rail)),
            Word::Unknown => self.heard(deed, Chapter::Moving(false, false)),
            Word::Lost => self.heard(deed, Chapter::Lost(true, rail)),
            Word::Done => self.settle(deed, Chapter::Done(true, rail)),
            // The bank's id is learned even from a report of failure.
            Word::Failed => {
                self.heard(deed, Chapter::Moving(true, rail));
                self.settle(deed, Chapter::Refused)
            }
            Word::Refused => self.settle(deed, Chapter::Refused),
        }
    }

    fn heard(&mut self, deed: usize, chapter: Chapter) -> Answer {
        let deed = &mut self.deeds[deed];
        let before = (deed.word(), deed.named());
        deed.story.push(chapter);
        if (deed.word(), deed.named()) == before {
            deed.story.pop();
            return Answer::Changed(false);
        }
        Answer::Changed(true)
    }

    fn settle(&mut self, deed: usize, chapter: Chapter) -> Answer {
        let mark = self.mark();
        let done = self.end(deed, chapter).map_err(Answer::Refused);
        self.close(&mark, done)
    }

    /// Ends a transfer: the money leaves and its fees are paid, or all of it returns.
    fn end(&mut self, deed: usize, chapter: Chapter) -> Result<(), &'static str> {
        let Deed {
            from,
            first,
            amount,
            fee,
            tax,
            ..
        } = self.deeds[deed];
        let completed = matches!(chapter, Chapter::Done(..));
        let event = if completed {
            Event {
                key: Some(self.deeds[deed].key.clone()),
                ..self.event("confirm_hold", amount, "TRANSFER_OUT", Tale::Bank(deed))
            }
        } else {
            Event {
                returns: Some(first),
                ..self.event("release", amount, "RELEASE", Tale::Bank(deed))
            }
        };
        self.put(from, event)?;
        let of = Tale::FeeOfTransfer(deed);
        if fee + tax > 0 {
            let event = self.event("release", fee + tax, "RELEASE", of.clone());
            self.put(from, event)?;
        }
        if completed {
            self.take(from, (fee, tax), &of)
                .expect("what it costs was held");
        }
        self.deeds[deed].story.push(chapter);
        Ok(())
    }

    /// A person decides about an open transfer.
    pub(super) fn verdict(&mut self, newest: usize, completed: bool) -> Answer {
        let Some(deed) = self.deed(newest) else {
            return Answer::Nothing;
        };
        if !self.deeds[deed].is_open() {
            return Answer::Refused("transfer_not_open");
        }
        let chapter = if completed {
            Chapter::Done(false, false)
        } else {
            Chapter::Refused
        };
        self.settle(deed, chapter)
    }

    /// Brings back money that left, never more than left; if the transfer was still open, this
    /// proves that it had left.
    pub(super) fn reverse(&mut self, newest: usize, part: Part) -> Answer {
        let Some(deed) = self.deed(newest) else {
            return Answer::Nothing;
        };
        let Deed {
            from,
            amount: sent,
            inside,
            ..
        } = self.deeds[deed];
        let rest = sent - self.deeds[deed].returned();
        let amount = self.part(rest, part).max(1);
        self.amount = Some(amount);
        // An internal transfer never left, so it cannot come back.
        if inside || self.deeds[deed].word() == "rejected" || amount > rest {
            return Answer::Refused("nothing_to_reverse");
        }
        let mark = self.mark();
        let mut done = Ok(());
        if self.deeds[deed].is_open() {
            done = self.end(deed, Chapter::Done(false, false));
        }
        let event = self.event("credit", amount, "TRANSFER_REVERSAL", Tale::Bank(deed));
        let done = done.and_then(|()| self.put(from, event));
        if done.is_ok() {
            self.charge_if_covered(from);
        }
        self.deeds[deed].story.push(Chapter::Back(amount));
        self.close(&mark, done.map_err(Answer::Refused))
    }

    /// Money arrives from the bank: an account without a CVU, an unknown one and a closed one
    /// cannot take it.
    pub(super) fn cash_in(&mut self, index: usize, pick: Pick) -> Answer {
        self.turn(index);
        let amount = self.resolve(index, pick);
        match self.purses[index].state {
            State::Registered => return Answer::Parked("account_without_cvu"),
            State::Void => return Answer::Parked("account_not_found"),
            State::Closed => return Answer::Parked("account_closed"),
            State::Active | State::Suspended => {}
        }
        let mark = self.mark();
        let event = self.event("credit", amount, "TRANSFER_IN", Tale::Arrived);
        let done = self.put(index, event).map_err(Answer::Refused);
        if done.is_ok() {
            self.charge_if_covered(index);
        }
        self.close(&mark, done)
    }
}
