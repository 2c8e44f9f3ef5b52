//! In place of the client in a program that was built without it: every URL is refused, so there are no settings, and
//! no log can be opened.

use std::convert::Infallible;
use std::path::PathBuf;

use secrecy::SecretString;

use crate::NO_CLIENT;
use crate::opening::{Begin, NoSession, OpenedLog, WrongSetting};

/// The database and the cell in it, of which there is none.
#[derive(Clone, Debug)]
pub struct Settings {
    none: Infallible,
    /// As with the client.
    pub password_file: Option<PathBuf>,
    /// As with the client.
    pub authorities: Option<PathBuf>,
    /// As with the client.
    pub cell: u32,
}

impl Settings {
    /// Refuses the URL.
    ///
    /// # Errors
    /// Always.
    pub fn new(_: &SecretString, _: Option<&SecretString>) -> Result<Self, WrongSetting> {
        Err(WrongSetting(NO_CLIENT))
    }

    /// As with the client.
    pub fn place(&self) -> String {
        match self.none {}
    }
}

/// As with the client.
///
/// # Errors
/// Never, because there are no settings.
pub fn open(settings: Settings, _: Begin) -> Result<OpenedLog, NoSession> {
    match settings.none {}
}
