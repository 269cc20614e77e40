//! From text to expression, with the column of what is not understood.

use winnow::LocatingSlice;
use winnow::ascii::multispace0;
use winnow::combinator::{alt, cut_err, delimited, fail, opt, peek, preceded, repeat, terminated};
use winnow::error::{ContextError, ErrMode, StrContext, StrContextValue};
use winnow::prelude::*;
use winnow::stream::{Location, Stateful};
use winnow::token::{any, none_of, one_of, take_while};

use super::operand::Operand;
use super::{Filter, FilterError, LONGEST_FILTER, MOST_TESTS, Node, Operator, Test, names};

/// How deep `!` and parentheses may stand in each other.
const DEEPEST: usize = 32;
/// How many names are offered in place of one that is not known.
const OFFERED: usize = 3;

/// What is left of the text, and what has been found in it.
type Input<'t> = Stateful<LocatingSlice<&'t str>, Found>;

#[derive(Debug, Default)]
struct Found {
    tests: Vec<Test>,
    depth: usize,
}

pub(super) fn filter(text: &str) -> Result<Filter, FilterError> {
    let column = |byte: usize| text.get(..byte).map_or(1, |before| before.chars().count() + 1);
    if text.len() > LONGEST_FILTER {
        let reason = format!("an expression has at most {LONGEST_FILTER} bytes, this one has {}", text.len());
        return Err(FilterError { column: column(LONGEST_FILTER), reason });
    }
    let mut input = Input { input: LocatingSlice::new(text), state: Found::default() };
    let root = preceded(multispace0, any_of).parse_next(&mut input).and_then(|root| {
        let end = "`&&`, `||` or the end";
        let what = match input.state.tests.last() {
            Some(Test { comparison: None, .. }) => "`==`, `!=`, `<`, `<=`, `>`, `>=`, `&&`, `||` or the end",
            _ => end,
        };
        if input.input.is_empty() { Ok(root) } else { fail.context(wanted(what)).parse_next(&mut input) }
    });
    let at = input.input.current_token_start();
    let root = root.map_err(|error| {
        let found = match text.get(at..).and_then(|rest| rest.chars().next()) {
            Some(found) => format!("`{found}` found"),
            None => "the expression ends".to_owned(),
        };
        FilterError { column: column(at), reason: format!("{found}, {} expected", expected(error)) }
    })?;
    let mut tests = input.state.tests;
    for test in &mut tests {
        test.column = column(test.column);
        check_name(test)?;
    }
    if let Some(surplus) = tests.get(MOST_TESTS) {
        let reason = format!("an expression has at most {MOST_TESTS} tests of fields");
        return Err(FilterError { column: surplus.column, reason });
    }
    Ok(Filter { tests, root })
}

/// The innermost of what was expected.
fn expected(error: ErrMode<ContextError>) -> String {
    let context = error.into_inner().unwrap_or_default();
    let mut said = context.context().filter_map(|context| match context {
        StrContext::Expected(value) => Some(value.to_string()),
        _ => None,
    });
    said.next().unwrap_or_else(|| "something else".to_owned())
}

fn wanted(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

fn any_of(input: &mut Input<'_>) -> ModalResult<Node> {
    chain(input, "||", all_of).map(|mut nodes| match nodes.len() {
        1 => nodes.remove(0),
        _ => Node::Any(nodes),
    })
}

fn all_of(input: &mut Input<'_>) -> ModalResult<Node> {
    chain(input, "&&", one).map(|mut nodes| match nodes.len() {
        1 => nodes.remove(0),
        _ => Node::All(nodes),
    })
}

fn chain(
    input: &mut Input<'_>,
    between: &'static str,
    part: fn(&mut Input<'_>) -> ModalResult<Node>,
) -> ModalResult<Vec<Node>> {
    let mut parts = vec![part(input)?];
    while opt(terminated(between, multispace0)).parse_next(input)?.is_some() {
        parts.push(cut_err(part).parse_next(input)?);
    }
    Ok(parts)
}

fn one(input: &mut Input<'_>) -> ModalResult<Node> {
    match opt(peek(any)).parse_next(input)? {
        Some('!') => {
            any.parse_next(input)?;
            multispace0.parse_next(input)?;
            deeper(input, one).map(|node| Node::Not(Box::new(node)))
        }
        Some('(') => {
            any.parse_next(input)?;
            multispace0.parse_next(input)?;
            let node = deeper(input, any_of)?;
            let close = cut_err(terminated(')', multispace0)).context(wanted("`&&`, `||` or `)`"));
            { close }.parse_next(input)?;
            Ok(node)
        }
        Some(c) if c.is_ascii_alphabetic() => test(input),
        _ => fail.context(wanted("the name of a field, `!` or `(`")).parse_next(input),
    }
}

fn deeper(input: &mut Input<'_>, part: fn(&mut Input<'_>) -> ModalResult<Node>) -> ModalResult<Node> {
    if input.state.depth == DEEPEST {
        return cut_err(fail).context(wanted("an expression less deep")).parse_next(input);
    }
    input.state.depth += 1;
    let node = cut_err(part).parse_next(input)?;
    input.state.depth -= 1;
    Ok(node)
}

fn test(input: &mut Input<'_>) -> ModalResult<Node> {
    let column = input.input.current_token_start();
    let name = take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    let name: &str = terminated(name, multispace0).parse_next(input)?;
    let comparison = match opt(terminated(operator, multispace0)).parse_next(input)? {
        Some(operator) => {
            let value = alt((quoted, word.map(str::to_owned)));
            let value = terminated(value, multispace0)
                .context(wanted("a number, an address, a word or text in quotes"));
            Some((operator, Operand::new(cut_err(value).parse_next(input)?)))
        }
        None => None,
    };
    input.state.tests.push(Test { name: name.to_owned(), column, comparison });
    Ok(Node::Test(input.state.tests.len() - 1))
}

fn operator(input: &mut Input<'_>) -> ModalResult<Operator> {
    alt((
        "==".value(Operator::Equal),
        "!=".value(Operator::NotEqual),
        "<=".value(Operator::LessOrEqual),
        ">=".value(Operator::GreaterOrEqual),
        "<".value(Operator::Less),
        ">".value(Operator::Greater),
    ))
    .parse_next(input)
}

fn word<'t>(input: &mut Input<'t>) -> ModalResult<&'t str> {
    take_while(1.., |c: char| c.is_alphanumeric() || matches!(c, '.' | ':' | '_' | '-' | '/'))
        .parse_next(input)
}

fn quoted(input: &mut Input<'_>) -> ModalResult<String> {
    let character = alt((preceded('\\', one_of(['"', '\\'])), none_of(['"', '\\'])));
    let close = cut_err('"').context(wanted("`\"`, `\\\"` or `\\\\`"));
    delimited('"', repeat(0.., character), close).parse_next(input)
}

fn check_name(test: &Test) -> Result<(), FilterError> {
    let Test { name, column, comparison } = test;
    let known = |known: &str| match known.strip_prefix(name.as_str()) {
        Some("") => true,
        Some(rest) => comparison.is_none() && rest.starts_with('.'),
        None => false,
    };
    if names().any(known) {
        return Ok(());
    }
    let mut near: Vec<(f64, &str)> =
        names().map(|known| (strsim::jaro_winkler(name, known), known)).collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let within = names().filter(|known| known.starts_with(&format!("{name}.")));
    let mut offered: Vec<&str> = within.take(OFFERED).collect();
    if offered.is_empty() {
        offered.extend(near.iter().take(OFFERED).filter(|(score, _)| *score > 0.8).map(|(_, name)| name));
    }
    let mut reason = format!("no field is named {name}");
    if !offered.is_empty() {
        reason += &format!("; there is {}", offered.join(", "));
    }
    Err(FilterError { column: *column, reason })
}
