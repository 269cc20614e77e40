//! Who is told what a program waits for, so that a silence is not without a word.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long nothing must have come before that is told.
pub(crate) const SILENCE: Duration = Duration::from_secs(3);

type Tell = dyn Fn(&str) + Send + Sync;

/// Is told what is waited for, once for each time that nothing has come for three seconds. By default nobody is.
#[derive(Clone, Default)]
pub struct Herald(Option<Arc<Tell>>);

impl Herald {
    /// Tells in this way.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }
}

impl fmt::Debug for Herald {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Herald" } else { "nobody" })
    }
}

/// A wait, or one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Vigil {
    herald: Herald,
    is_told: Cell<bool>,
}

impl Vigil {
    pub(crate) fn new(herald: &Herald) -> Self {
        Self { herald: herald.clone(), is_told: Cell::default() }
    }

    /// For so long, this has not come.
    pub(crate) fn lasts(&self, silent: Duration, what: &str) {
        let is_long = silent >= SILENCE;
        if is_long
            && !self.is_told.get()
            && let Some(tell) = &self.herald.0
        {
            tell(what);
        }
        self.is_told.set(is_long);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn each_silence_is_told_once_and_none_that_is_short() {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let list = Arc::clone(&told);
        let vigil = Vigil::new(&Herald::new(move |what| list.lock().unwrap().push(what.to_owned())));
        for (seconds, what) in [(1, "one"), (3, "two"), (4, "two"), (0, "three"), (2, "three"), (5, "four")] {
            vigil.lasts(Duration::from_secs(seconds), what);
        }
        assert_eq!(*told.lock().unwrap(), ["two", "four"]);
    }
}
