//! Which packets are shown: an expression on the fields by name, as in
//! `infiniband.bth.opcode == 4 && !(ip.src == 10.9.0.1)`.
//!
//! ```text
//! expression   all { "||" all }
//! all          one { "&&" one }
//! one          "!" one | "(" expression ")" | NAME [ OPERATOR VALUE ]
//! OPERATOR     "==" | "!=" | "<" | "<=" | ">" | ">="
//! VALUE        a number (26, 0x1a), seconds (0.5), an address, bytes (00:01), a word, or "text" with \" and \\
//! ```
//!
//! A name alone asks whether the packet has the field, or any field of that header (`infiniband.reth`). A comparison holds if
//! it holds of any of the name's values, also where a packet completed several FPDUs; it does not hold where there is none.
//!
//! An expression has limits, so that nobody's can exhaust the stack; evaluating one allocates nothing.

mod operand;
mod parse;

use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

use crate::dissect::Dissection;
use crate::fields::{self, Value};
use crate::record::Record;
use operand::Operand;

/// Longest expression, in bytes.
pub const LONGEST_FILTER: usize = 4096;
/// Most tests of fields in one expression: each has a bit in a word.
pub const MOST_TESTS: usize = 64;

/// All names that a packet may have, sorted; a test holds them against the code that gives them.
fn names() -> impl Iterator<Item = &'static str> {
    include_str!("filter/names.txt").lines()
}

/// An expression that packets fulfil or not.
#[derive(Clone, Debug)]
pub struct Filter {
    tests: Vec<Test>,
    root: Node,
}

/// Why an expression is none, or cannot be asked of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// Which character of the expression is not understood; the first is 1.
    pub column: usize,
    /// What is wrong there, and what was expected.
    pub reason: String,
}

#[derive(Clone, Debug)]
enum Node {
    /// The test with this index.
    Test(usize),
    Not(Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
}

/// One field is asked for something.
#[derive(Clone, Debug)]
struct Test {
    name: String,
    /// Column of the name.
    column: usize,
    /// None if it need only be there.
    comparison: Option<(Operator, Operand)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Operator::Equal => ordering.is_eq(),
            Operator::NotEqual => ordering.is_ne(),
            Operator::Less => ordering.is_lt(),
            Operator::LessOrEqual => ordering.is_le(),
            Operator::Greater => ordering.is_gt(),
            Operator::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Filter, FilterError> {
        parse::filter(text)
    }
}

impl Filter {
    /// Whether a packet fulfils the expression; `first` is the time of the capture's first packet, in nanoseconds.
    ///
    /// # Errors
    /// If a field cannot be compared with the value that stands beside it: an address with a number.
    pub fn matches(
        &self,
        record: &Record<'_>,
        dissection: &Dissection<'_>,
        first: Option<i128>,
    ) -> Result<bool, FilterError> {
        let mut fulfilled = 0u64;
        fields::walk(record, dissection, first, &mut |name, value| {
            for (index, test) in self.tests.iter().enumerate() {
                if test.is_fulfilled(name, &value)? {
                    fulfilled |= 1 << index;
                }
            }
            Ok(())
        })?;
        Ok(self.root.holds(fulfilled))
    }
}

impl Test {
    fn is_fulfilled(&self, name: &str, value: &Value<'_>) -> Result<bool, FilterError> {
        let Some(rest) = name.strip_prefix(self.name.as_str()) else { return Ok(false) };
        let Some((operator, operand)) = &self.comparison else {
            return Ok(rest.is_empty() || rest.starts_with('.'));
        };
        if !rest.is_empty() {
            return Ok(false);
        }
        let ordering = operand.compared_with(value).ok_or_else(|| FilterError {
            column: self.column,
            reason: format!("{name} is {}, {operand} is none", operand::kind(value)),
        })?;
        Ok(operator.holds(ordering))
    }
}

impl Node {
    /// Each test's bit says whether it is fulfilled.
    fn holds(&self, fulfilled: u64) -> bool {
        match self {
            Node::Test(index) => fulfilled >> index & 1 == 1,
            Node::Not(node) => !node.holds(fulfilled),
            Node::All(nodes) => nodes.iter().all(|node| node.holds(fulfilled)),
            Node::Any(nodes) => nodes.iter().any(|node| node.holds(fulfilled)),
        }
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.reason)
    }
}

impl std::error::Error for FilterError {}
