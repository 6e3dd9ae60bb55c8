//! The documents: the README's commands give the README's output, links lead somewhere, and the index
//! of decisions is complete. Never judges style.

use std::{fs, path::Path, process::Command};

fn read(file: &str) -> String {
    fs::read_to_string(tests::root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Every Markdown page, relative to the root.
fn pages() -> Vec<String> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.md",
        ])
        .current_dir(tests::root())
        .output()
        .unwrap();
    let pages: Vec<_> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .filter(|page| tests::root().join(page).is_file())
        .map(str::to_owned)
        .collect();
    assert!(pages.len() > 10, "only {pages:?}");
    pages
}

/// Commands of a page's `console` blocks, each with the output that the page shows.
fn commands(page: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for block in page.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => found.push((command.to_owned(), String::new())),
                (None, Some((_, output))) => {
                    output.push_str(line);
                    output.push('\n');
                }
                (None, None) => panic!("output before a command: {line}"),
            }
        }
    }
    found
}

/// What a command of the README really prints. The programs are built before the tests run; starting
/// cargo inside a test would wait for its lock.
fn output(program: &str, arguments: &str) -> String {
    let program = tests::product::program(program).unwrap();
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c"])
        .arg(format!("'{}' {arguments}", program.display()))
        .env("NODE_NAME", "node-1")
        .current_dir(tests::root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Same words, and numbers within 5 %: the last bit of a logarithm differs between processors, and a
/// day of decisions carries it on.
fn alike(expected: &str, actual: &str) -> bool {
    let number = |word: &str| word.trim_end_matches([',', ';', 'x']).parse::<f64>().ok();
    let (expected, actual) = (expected.split_whitespace(), actual.split_whitespace());
    expected.clone().count() == actual.clone().count()
        && expected.zip(actual).all(
            |(expected, actual)| match (number(expected), number(actual)) {
                (Some(expected), Some(actual)) => (expected - actual).abs() <= 0.05 * expected,
                _ => expected == actual,
            },
        )
}

#[test]
fn numbers_are_alike_and_words_the_same() {
    assert!(alike(
        "16:15 53.6 req/s, 5 → 6",
        "16:15   53.7 req/s, 5 → 6"
    ));
    assert!(!alike("16:15 53.6 req/s, 5 → 6", "16:15 53.6 req/s, 5 → 7"));
    assert!(!alike("16:15 53.6 req/s", "16:15 53.6 req/s, more"));
    assert!(!alike("a 1", "b 1"));
}

/// Every line of the excerpt comes in the output, in this order; `…` stands for lines left out.
fn contains_in_order(output: &str, excerpt: &str) {
    let mut lines = output.lines();
    for expected in excerpt.lines().filter(|line| *line != "…") {
        assert!(
            lines.any(|line| alike(expected, line)),
            "README.md: this line does not come, or not in this order: {expected}\n{output}"
        );
    }
}

#[test]
fn the_commands_of_the_readme_give_the_output_that_it_shows() {
    let mut shown = 0;
    for (command, expected) in commands(&read("README.md")) {
        let run = command.strip_prefix("cargo run --quiet --bin ");
        if let Some((program, arguments)) = run.and_then(|run| run.split_once(" -- ")) {
            assert_eq!(output(program, arguments), expected, "{command}");
        } else {
            assert_eq!(command, "make demo", "its output is not checked");
            contains_in_order(&output("foresail", "demo --for 5s"), &expected);
        }
        shown += 1;
    }
    assert!(
        shown >= 3,
        "the README shows the output of {shown} commands"
    );
}

#[test]
fn the_first_screen_of_the_readme_is_short() {
    let text = read("README.md");
    let lines = text
        .lines()
        .take_while(|line| !line.starts_with("## "))
        .count();
    assert!(lines <= 25, "{lines} lines before the first heading");
    assert!(text.contains("make demo"));
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut complaints = Vec::new();
    for page in pages() {
        let folder = Path::new(&page).parent().unwrap();
        for part in read(&page).split("](").skip(1) {
            let link = part.split([')', '#', ' ']).next().unwrap();
            let outside = link.contains("://") || link.is_empty();
            if !outside && !tests::root().join(folder).join(link).exists() {
                complaints.push(format!("{page}: {link} does not exist"));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_decision_is_in_the_index_and_says_context_decision_and_consequences() {
    let index = read("docs/decisions/README.md");
    for page in pages() {
        let Some(name) = page.strip_prefix("docs/decisions/0") else {
            continue;
        };
        let name = format!("0{name}");
        assert!(
            index.contains(&format!("({name})")),
            "{name} is not in the index"
        );
        let text = read(&page);
        for heading in ["\n## Context\n", "\n## Decision\n", "\n## Consequences\n"] {
            assert!(text.contains(heading), "{page}: lacks {heading:?}");
        }
    }
}

#[test]
fn every_verb_that_a_page_names_is_in_the_makefile() {
    let makefile = read("Makefile");
    for page in pages() {
        for part in read(&page).split("`make ").skip(1) {
            let verb = part.split(['`', ' ']).next().unwrap();
            assert!(
                makefile.contains(&format!("\n{verb}:")),
                "{page}: make {verb} is no verb"
            );
        }
    }
}

#[test]
fn every_known_fault_names_tests_that_exist() {
    let page = read("docs/decisions/known-faults.md");
    let output = Command::new("git")
        .args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.rs",
        ])
        .current_dir(tests::root())
        .output()
        .unwrap();
    let files = String::from_utf8(output.stdout).unwrap();
    let sources: String = files
        .lines()
        .filter_map(|file| fs::read_to_string(tests::root().join(file)).ok())
        .collect();
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(2)
        .collect();
    assert!(rows.len() > 40, "{}", rows.len());
    for row in rows {
        let named: Vec<&str> = row
            .split('|')
            .nth(3)
            .unwrap()
            .split('`')
            .skip(1)
            .step_by(2)
            .collect();
        assert!(!named.is_empty(), "no test: {row}");
        for test in named {
            let exists = sources.contains(&format!("fn {test}()"));
            assert!(exists, "there is no test {test}: {row}");
        }
    }
}
