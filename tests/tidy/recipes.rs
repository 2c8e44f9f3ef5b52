//! The recipes of `docs/internals/adding.md` hold: the files that a change takes are there, and each has what the recipe
//! names in it.

use super::{files, none};

const DOCUMENT: &str = "docs/internals/adding.md";
/// The recipes, and how many files of the product each may take at most.
const RECIPES: [(&str, usize); 3] = [
    ("A kind of limit", 6),
    ("A filter on a list", 5),
    ("A second bank's gateway", 6),
];

/// The lines "- `file` (`marker`): …" of a recipe.
fn steps<'a>(document: &'a str, title: &str) -> Vec<(&'a str, &'a str)> {
    let recipe = document.split_once(&format!("\n### {title}\n"));
    let (_, recipe) = recipe.unwrap_or_else(|| panic!("there is no recipe {title}"));
    let recipe = recipe.split("\n#").next().unwrap_or_default();
    let step = |line: &'a str| {
        let (file, rest) = line.strip_prefix("- `")?.split_once("` (`")?;
        let (marker, _) = rest.split_once("`)")?;
        Some((file, marker))
    };
    recipe.lines().filter_map(step).collect()
}

#[test]
fn recipes_name_the_files_that_a_change_takes() {
    let files = files();
    let text = |name: &str| {
        let found = files.iter().find(|(it, _)| it == name);
        found.map(|(_, text)| text.as_str())
    };
    let document = text(DOCUMENT).unwrap();
    let mut wrong = Vec::new();
    for (title, most) in RECIPES {
        let steps = steps(document, title);
        let aside = ["tests/", "proptests/", "docs/"];
        let product = steps
            .iter()
            .filter(|(file, _)| !aside.iter().any(|room| file.starts_with(room)));
        let product = product.count();
        if product == 0 || product > most {
            wrong.push(format!(
                "{title}: {product} files of the product, at most {most}"
            ));
        }
        for (file, marker) in steps {
            match text(file) {
                None => wrong.push(format!("{title}: there is no {file}")),
                Some(text) if !text.contains(marker) => {
                    wrong.push(format!("{title}: {file} has no {marker}"));
                }
                Some(_) => {}
            }
        }
    }
    none(
        &wrong,
        "a recipe names files that are there, and what is in them",
    );
}
