//! The established stream: from outside, one side by script, and two back to back.

mod pair;
mod pairs;
mod side;
