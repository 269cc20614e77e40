//! The table's columns: each as wide as what is in it, and fewer of them where a terminal is narrow.

/// How many there are.
pub const COLUMNS: usize = 10;

const HEADINGS: [&str; COLUMNS] =
    ["program", "peer", "now", "served", "refused", "failed", "messages", "per s", "MB", "MB/s"];
/// Characters that they have at least, so that the table stands still while numbers grow.
const LEAST: [usize; COLUMNS] = [8, 9, 4, 6, 7, 6, 8, 6, 6, 6];
/// Names stand at the left, numbers at the right.
const NAMES: usize = 2;
const PEER: usize = 1;
const SERVED: usize = 3;
const REFUSED: usize = 4;
const FAILED: usize = 5;
const MEGABYTES: usize = 8;
/// What is left out first where there is no room, and whether only if there is nothing to tell.
const SPARE: [(usize, bool); 6] =
    [(REFUSED, true), (FAILED, true), (MEGABYTES, false), (SERVED, false), (REFUSED, false), (FAILED, false)];
/// Characters of a peer's address that are left of it where all else does not help.
const SHORTEST_PEER: usize = 15;

/// The heading, and a line for each row. With a width, columns are left out, and at last addresses shortened, until they fit.
pub fn lines(rows: &[[String; COLUMNS]], width: Option<usize>) -> Vec<String> {
    let cell = |row: &[String; COLUMNS], column: usize| row[column].chars().count();
    let widest = |column: usize| rows.iter().map(|row| cell(row, column)).max().unwrap_or(0);
    let mut widths: [usize; COLUMNS] = std::array::from_fn(|column| widest(column).max(LEAST[column]));
    let mut shown: Vec<usize> = (0..COLUMNS).collect();
    if let Some(width) = width {
        let total = |shown: &[usize], widths: &[usize; COLUMNS]| -> usize {
            shown.iter().map(|column| widths[*column] + 1).sum::<usize>() - 1
        };
        for (spare, only_if_empty) in SPARE {
            let is_empty = rows.iter().all(|row| row[spare] == "0");
            if total(&shown, &widths) > width && (is_empty || !only_if_empty) {
                shown.retain(|column| *column != spare);
            }
        }
        let beyond = total(&shown, &widths).saturating_sub(width);
        widths[PEER] = widths[PEER].saturating_sub(beyond).max(SHORTEST_PEER.min(widths[PEER]));
    }
    let headings = HEADINGS.map(str::to_owned);
    let all = std::iter::once(&headings).chain(rows);
    all.map(|row| line(row, &shown, &widths)).collect()
}

fn line(row: &[String; COLUMNS], shown: &[usize], widths: &[usize; COLUMNS]) -> String {
    let cells: Vec<String> = shown
        .iter()
        .map(|&column| {
            let (text, width) = (&row[column], widths[column]);
            match column {
                PEER => format!("{:<width$}", shortened(text, width)),
                ..NAMES => format!("{text:<width$}"),
                _ => format!("{text:>width$}"),
            }
        })
        .collect();
    cells.join(" ")
}

/// Without its middle, if it is too long.
fn shortened(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let front: String = text.chars().take(kept / 2).collect();
    let back: String = text.chars().skip(length - kept.div_ceil(2)).collect();
    format!("{front}…{back}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(words: &str) -> [String; COLUMNS] {
        let cells: Vec<String> = words.split(' ').map(str::to_owned).collect();
        cells.try_into().unwrap()
    }

    fn longest(lines: &[String]) -> usize {
        lines.iter().map(|line| line.chars().count()).max().unwrap()
    }

    #[test]
    fn an_ordinary_table_fits_eighty_columns_and_has_all_of_them_where_there_is_room() {
        let rows = [
            row("perf 192.168.100.200 16 12345 0 0 1234567890 1234567 123456.7 1234.5"),
            row("rc_pingpong 10.0.0.1 0 1 0 0 1000 0 8.2 0.0"),
        ];
        let narrow = lines(&rows, Some(80));
        assert!(longest(&narrow) <= 80, "{narrow:?}");
        assert!(narrow[0].contains("messages") && narrow[0].contains("MB/s"), "{narrow:?}");
        assert!(narrow[1].contains("1234567890") && !narrow[0].contains("refused"), "{narrow:?}");
        for wide in [lines(&rows, Some(200)), lines(&rows, None)] {
            let words: Vec<&str> = wide[0].split_whitespace().collect();
            assert_eq!(words.join(" "), HEADINGS.join(" "));
            assert!(wide.iter().all(|line| line.chars().count() == longest(&wide)), "{wide:?}");
        }
    }

    #[test]
    fn who_was_refused_or_failed_is_told_before_the_megabytes() {
        let rows = [row("perf 192.168.100.200 16 12345 3 4 1234567890 1234567 123456.7 1234.5")];
        let narrow = lines(&rows, Some(80));
        assert!(longest(&narrow) <= 80, "{narrow:?}");
        assert!(narrow[0].contains("refused") && narrow[0].contains("failed"), "{narrow:?}");
        let words: Vec<&str> = narrow[0].split_whitespace().collect();
        assert!(!words.contains(&"MB") && words.contains(&"MB/s"), "{narrow:?}");
    }

    #[test]
    fn a_long_address_is_shortened_in_its_middle_only_at_last() {
        let rows =
            [row("perf fd00:1111:2222:3333:4444:5555:6666:7777 16 12 3 4 1234567890 1234567 1.7 1234.5")];
        let narrow = lines(&rows, Some(80));
        assert!(
            longest(&narrow) <= 80 && narrow[1].contains("fd00:1111:2222:3333:4444:5555:6666:7777"),
            "{narrow:?}"
        );
        let narrower = lines(&rows, Some(60));
        assert!(longest(&narrower) <= 60, "{narrower:?}");
        assert!(narrower[1].contains("fd00:") && narrower[1].contains("…") && narrower[1].contains(":7777"));
    }

    #[test]
    fn without_rows_there_is_a_heading() {
        assert_eq!(lines(&[], Some(80)).len(), 1);
        assert!(lines(&[], Some(1))[0].starts_with("program"));
    }
}
