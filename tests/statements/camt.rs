//! camt.053.001.08, as far as statements use it: its elements, their order, how often each may occur, and the texts
//! that they may have. An element that is not in the table fails, so a document that passes here passes the
//! published schema.

use std::collections::BTreeMap;

/// An element: its name, its children, and the form of its text if it has none.
type Element = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

/// Elements by their type. The children come in this order; `?` at most once, `*` any number, `1` once.
const TYPES: &[Element] = &[
    ("Document", &[("BkToCstmrStmt", "1")], ""),
    ("BkToCstmrStmt", &[("GrpHdr", "1"), ("Stmt", "1")], ""),
    ("GrpHdr", &[("MsgId", "1"), ("CreDtTm", "1")], ""),
    (
        "Stmt",
        &[
            ("Id:statement", "1"),
            ("CreDtTm", "?"),
            ("FrToDt", "?"),
            ("Acct", "1"),
            ("Bal", "*"),
            ("TxsSummry", "?"),
            ("Ntry", "*"),
            ("AddtlStmtInf", "?"),
        ],
        "",
    ),
    ("FrToDt", &[("FrDtTm", "1"), ("ToDtTm", "1")], ""),
    (
        "Acct",
        &[
            ("Id:account", "1"),
            ("Ccy", "?"),
            ("Ownr", "?"),
            ("Svcr", "?"),
        ],
        "",
    ),
    ("Id:account", &[("Othr:account", "1")], ""),
    ("Othr:account", &[("Id:text", "1"), ("SchmeNm", "?")], ""),
    ("SchmeNm", &[("Prtry:text", "1")], ""),
    ("Ownr", &[("Nm", "?"), ("Id:party", "?")], ""),
    ("Id:party", &[("OrgId", "?"), ("PrvtId", "?")], ""),
    ("OrgId", &[("Othr:account", "*")], ""),
    ("PrvtId", &[("Othr:account", "*")], ""),
    ("Svcr", &[("FinInstnId", "1")], ""),
    (
        "FinInstnId",
        &[("Nm", "?"), ("PstlAdr", "?"), ("Othr:agent", "?")],
        "",
    ),
    ("PstlAdr", &[("AdrLine", "*")], ""),
    ("AdrLine", &[], "70"),
    ("Othr:agent", &[("Id:agent", "1"), ("SchmeNm", "?")], ""),
    (
        "Bal",
        &[
            ("Tp", "1"),
            ("Amt", "1"),
            ("CdtDbtInd", "1"),
            ("Dt:choice", "1"),
        ],
        "",
    ),
    ("Tp", &[("CdOrPrtry", "1")], ""),
    ("CdOrPrtry", &[("Cd", "1")], ""),
    ("Dt:choice", &[("Dt:day", "1")], ""),
    (
        "TxsSummry",
        &[
            ("TtlNtries", "?"),
            ("TtlCdtNtries", "?"),
            ("TtlDbtNtries", "?"),
        ],
        "",
    ),
    ("TtlNtries", &[("NbOfNtries", "?"), ("Sum", "?")], ""),
    ("TtlCdtNtries", &[("NbOfNtries", "?"), ("Sum", "?")], ""),
    ("TtlDbtNtries", &[("NbOfNtries", "?"), ("Sum", "?")], ""),
    (
        "Ntry",
        &[
            ("NtryRef", "?"),
            ("Amt", "1"),
            ("CdtDbtInd", "1"),
            ("Sts", "1"),
            ("BookgDt", "?"),
            ("ValDt", "?"),
            ("AcctSvcrRef", "?"),
            ("BkTxCd", "1"),
            ("NtryDtls", "*"),
            ("AddtlNtryInf", "?"),
        ],
        "",
    ),
    ("Sts", &[("Cd", "1")], ""),
    ("BookgDt", &[("Dt:day", "1")], ""),
    ("ValDt", &[("Dt:day", "1")], ""),
    ("BkTxCd", &[("Prtry:code", "?")], ""),
    ("Prtry:code", &[("Cd:text", "1"), ("Issr", "?")], ""),
    ("NtryDtls", &[("TxDtls", "*")], ""),
    (
        "TxDtls",
        &[
            ("Refs", "?"),
            ("RltdPties", "?"),
            ("RmtInf", "?"),
            ("RltdDts", "?"),
            ("AddtlTxInf", "?"),
        ],
        "",
    ),
    (
        "Refs",
        &[
            ("AcctSvcrRef", "?"),
            ("EndToEndId", "?"),
            ("ClrSysRef", "?"),
        ],
        "",
    ),
    (
        "RltdPties",
        &[
            ("Dbtr", "?"),
            ("DbtrAcct", "?"),
            ("Cdtr", "?"),
            ("CdtrAcct", "?"),
        ],
        "",
    ),
    ("Dbtr", &[("Pty", "1")], ""),
    ("Cdtr", &[("Pty", "1")], ""),
    ("Pty", &[("Nm", "?"), ("Id:party", "?")], ""),
    ("DbtrAcct", &[("Id:account", "1")], ""),
    ("CdtrAcct", &[("Id:account", "1")], ""),
    ("RmtInf", &[("Ustrd", "*")], ""),
    ("RltdDts", &[("TxDtTm", "?")], ""),
    ("Ustrd", &[], "140"),
    ("TxDtTm", &[], "instant"),
    ("MsgId", &[], "35"),
    ("CreDtTm", &[], "instant"),
    ("FrDtTm", &[], "instant"),
    ("ToDtTm", &[], "instant"),
    ("Id:statement", &[], "35"),
    ("Id:text", &[], "34"),
    ("Id:agent", &[], "35"),
    ("Prtry:text", &[], "35"),
    ("Cd:text", &[], "35"),
    ("Issr", &[], "35"),
    ("Nm", &[], "140"),
    ("Ccy", &[], "ARS"),
    ("Cd", &[], "4"),
    ("Dt:day", &[], "day"),
    ("Amt", &[], "amount"),
    ("Sum", &[], "amount"),
    ("NbOfNtries", &[], "15"),
    ("CdtDbtInd", &[], "4"),
    ("NtryRef", &[], "35"),
    ("AcctSvcrRef", &[], "35"),
    ("EndToEndId", &[], "35"),
    ("ClrSysRef", &[], "35"),
    ("AddtlNtryInf", &[], "500"),
    ("AddtlTxInf", &[], "500"),
    ("AddtlStmtInf", &[], "500"),
];

/// The content of a statement.
#[derive(Debug, Default)]
pub struct Entries {
    /// The balances by their codes.
    pub balances: BTreeMap<String, String>,
    /// The references of the entries with the day on which they are booked and their text, in their order.
    pub entries: Vec<(String, String, String)>,
    /// When it was created.
    pub created: String,
    /// The name of the account's owner.
    pub owner: String,
}

/// A node of the document.
struct Node<'a> {
    name: &'a str,
    children: Vec<Node<'a>>,
    text: String,
}

impl Node<'_> {
    /// The text at a path.
    fn at(&self, path: &[&str]) -> &str {
        match path.split_first() {
            None => &self.text,
            Some((name, rest)) => self.child(name).map_or("", |it| it.at(rest)),
        }
    }

    fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|it| it.name == name)
    }
}

/// Reads an element from after its `<`; returns it with the text after its end.
fn node(text: &str) -> (Node<'_>, &str) {
    let (tag, mut rest) = text.split_once('>').unwrap();
    let name = tag.split(' ').next().unwrap();
    assert!(!tag.contains('<') && !tag.ends_with('/'), "{tag}");
    let mut found = Node {
        name,
        children: Vec::new(),
        text: String::new(),
    };
    loop {
        let (before, behind) = rest.split_once('<').unwrap();
        assert!(!before.contains("]]>"), "{before}");
        found.text.push_str(before);
        if let Some(end) = behind.strip_prefix('/') {
            let (end, left) = end.split_once('>').unwrap();
            assert_eq!(end, name, "it is closed by another");
            found.text = unescaped(&found.text);
            return (found, left);
        }
        let (child, left) = node(behind);
        found.children.push(child);
        rest = left;
    }
}

fn unescaped(text: &str) -> String {
    let named = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    let plain = named
        .iter()
        .fold(text.to_owned(), |text, (name, _)| text.replace(name, ""));
    assert!(!plain.contains('&'), "{text}");
    named
        .iter()
        .fold(text.to_owned(), |text, (name, c)| text.replace(name, c))
}

fn checked(node: &Node<'_>, kind: &str) {
    let known = TYPES.iter().find(|(name, ..)| *name == kind);
    let (_, children, text) = known.unwrap_or_else(|| panic!("{kind} is not in the table"));
    let mut left = node.children.iter().peekable();
    for (child, often) in *children {
        let name = child.split(':').next().unwrap();
        let mut count = 0;
        while let Some(found) = left.next_if(|it| it.name == name) {
            checked(found, child);
            count += 1;
        }
        let right = match *often {
            "1" => count == 1,
            "?" => count <= 1,
            _ => true,
        };
        assert!(right, "{count} times {child} in {kind}");
    }
    let more: Vec<_> = left.map(|it| it.name).collect();
    assert!(more.is_empty(), "{more:?} in {kind}");
    if !children.is_empty() {
        assert_eq!(node.text.trim(), "", "{kind} has a text");
        return;
    }
    let value = node.text.as_str();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let right = match *text {
        "instant" => value.len() == 29 && value.ends_with("-03:00") && value.contains('T'),
        "day" => value.len() == 10,
        "ARS" => value == "ARS",
        "amount" => value
            .split_once('.')
            .is_some_and(|(whole, cents)| digits(whole) && digits(cents) && value.len() <= 19),
        max => (1..=max.parse().unwrap()).contains(&value.chars().count()),
    };
    assert!(right, "{kind}: {value}");
}

fn entry(it: &Node<'_>) -> (String, String, String) {
    let day = it.at(&["BookgDt", "Dt"]);
    assert_eq!(it.at(&["ValDt", "Dt"]), day);
    let details = it.child("NtryDtls").and_then(|it| it.child("TxDtls"));
    let text = details.and_then(|it| it.child("RmtInf"));
    let pieces = text.map_or(&[][..], |it| &it.children);
    let text: Vec<_> = pieces.iter().map(|it| it.text.as_str()).collect();
    (
        it.at(&["NtryRef"]).to_owned(),
        day.to_owned(),
        text.join(" "),
    )
}

/// Checks a document, and returns its content.
pub fn read(text: &str) -> Entries {
    let begin = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<";
    let (document, left) = node(text.strip_prefix(begin).unwrap());
    assert_eq!(left.trim(), "");
    let space = "xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.08\"";
    assert!(text.contains(&format!("<Document {space}>")));
    checked(&document, "Document");
    let found = document
        .child("BkToCstmrStmt")
        .and_then(|it| it.child("Stmt"))
        .unwrap();
    let mut entries = Entries {
        owner: found.at(&["Acct", "Ownr", "Nm"]).to_owned(),
        created: found.at(&["CreDtTm"]).to_owned(),
        ..Entries::default()
    };
    for it in &found.children {
        match it.name {
            "Bal" => {
                let code = it.at(&["Tp", "CdOrPrtry", "Cd"]).to_owned();
                entries.balances.insert(code, it.at(&["Amt"]).to_owned());
            }
            "Ntry" => entries.entries.push(entry(it)),
            _ => {}
        }
    }
    entries
}
