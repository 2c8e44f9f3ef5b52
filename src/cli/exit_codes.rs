//! `caudal help exit-codes`: the exit codes of all commands, what each means, and what to do.

/// Each code, what it means, and what to do.
const CODES: [(u8, &str, &str); 6] = [
    (0, "The command is done.", "Nothing."),
    (
        1,
        "The command failed, or a verification found differences.",
        "Read the message. The cause may pass, such as a full disk, so a supervisor may try again.",
    ),
    (
        2,
        "The usage or the settings are wrong.",
        "Correct what the message names.",
    ),
    (
        3,
        "The store refuses to open, and trying again does not help.",
        "Do what the message says. Start nothing else on the folder until then.",
    ),
    (
        4,
        "Another node took the log, and this one serves no more.",
        "Start it again, as the systemd unit does: it follows as a standby. Nothing is lost.",
    ),
    (
        5,
        "Of `caudal status`: a person is needed on the next working day.",
        "Follow the runbook of each problem.",
    ),
];

/// The codes, one below the other.
pub(super) fn list() -> String {
    CODES
        .map(|(code, meaning, action)| format!("{code}  {meaning}\n   {action}"))
        .join("\n")
}

/// The help of the command, which has them, too.
pub(super) fn help() -> String {
    format!(
        "Print the exit codes of all commands, what each means, and what to do\n\n{}",
        list()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_list_the_same_codes() {
        let page = include_str!("../../docs/operations.md");
        for (code, meaning, action) in CODES {
            let row = format!("| {code} | {meaning} | {action} |");
            assert!(page.contains(&row), "{row}");
        }
    }
}
