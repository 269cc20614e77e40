//! The established stream: from outside, one side by script, and two back to back.

mod cuts;
mod flows;
mod one_side;
mod pair;
mod pairs;
mod script;
mod side;
