//! Errands: work that a node asks of the owner of a cell, for an operator or for itself.
//!
//! **Shape.** An errand is a request like those that are passed on ([`super::pass`]), made here and not by a client.
//! It names the cell or the realm that it is about ([`For`]), so the node that gets it judges by its own knowledge
//! whether it is the owner, and does nothing if it is not. [`ACTING`] says on whose behalf it is done, and is
//! believed only at the listener of nodes, behind their secret.
//!
//! **Bounds.** It waits for an owner as a request does, or less if it says so; its body and answer have the bounds of
//! a request.
//!
//! **Failure.** An errand that was sent and not answered is tried again only if it may be done twice.

use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::body::BoxBody;
use actix_web::http::Method;
use actix_web::web::Bytes;
use caudal_actors::failure::Failure;

use super::aim::Aim;
use super::parcel::{FOR, Parcel};
use super::pass::{Settled, settle};
use super::{Inside, Node};
use crate::http::Door;

pub use super::aim::For;
pub use super::parcel::{ACTING, ANSWER, is_sent_as_it_is};

/// An errand.
#[derive(Clone, Debug)]
pub struct Errand {
    /// The node that has to do it.
    pub to: For,
    /// The method of its request.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The value of [`ACTING`].
    pub acting: Option<String>,
    /// The body: JSON, or nothing.
    pub body: Bytes,
    /// Whether it may be done twice.
    pub repeats: bool,
    /// How long it waits for an owner, and each try for its answer, where that is less than for a request.
    pub most: Option<Duration>,
}

/// How an errand ended.
pub enum Done {
    /// This node has to do it; the cell is not given away before this is dropped.
    Here(Inside),
    /// Another node has answered it.
    There(HttpResponse<BoxBody>),
}

impl Node {
    /// Sends an errand to the node that has to do it, or finds that this is the node.
    ///
    /// # Errors
    /// [`Failure::ShuttingDown`] where no node did it in time, [`Failure::OutcomeUnknown`] where the outcome is
    /// unknown.
    pub async fn run(self: &Arc<Self>, door: &Door, errand: Errand) -> Result<Done, Failure> {
        let aim = Aim::At(errand.to);
        let word = errand.to.word();
        let bound = errand.most;
        let most = bound.map_or(self.patience(), |it| it.min(self.patience()));
        let Errand {
            method,
            path,
            acting,
            body,
            repeats,
            ..
        } = errand;
        let headers = [(FOR, Some(word)), (ACTING, acting)];
        let parcel = Parcel::errand(self, (&method, path), headers, (body, repeats), bound)?;
        match settle((&parcel, &aim), (door, self), most).await? {
            Settled::Here(inside) => Ok(Done::Here(inside)),
            Settled::Answered(answer) => Ok(Done::There(answer)),
        }
    }
}
