//! Colours that mean something are told apart, also by those who see fewer of them, and words can be read.
//!
//! How colours look to those whose cones of one kind do not work is computed as G. M. Machado, M. M. Oliveira and L. A. F. Fernandes
//! do in "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE Transactions on Visualization and Computer
//! Graphics 15(6), 2009, doi:10.1109/TVCG.2009.113, table 1, severity 1.0, on linear light. How different two colours look
//! is CIEDE2000; contrasts are those of WCAG 2.1 (1.4.3).

mod support;

use std::collections::BTreeMap;

use palette::color_difference::{Ciede2000, Wcag21RelativeContrast};
use palette::{FromColor, Lab, LinSrgb, Srgb};
use support::{capture, drawn};

/// Two colours that mean different things are at least so different, for everybody: several times what can just be seen (about 2).
const TOLD_APART: f32 = 10.0;
/// Contrast of words with what they stand on: WCAG's level AA.
const READABLE: f32 = 4.5;
/// How opaque is what stands back in the page (`PALE` in `look.js`).
const PALE: f32 = 0.9;

type Matrix = [[f32; 3]; 3];

/// Everybody, and those who see with two kinds of cones.
const EYES: [(&str, Matrix); 4] = [
    ("all three kinds of cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ),
];

/// What arrows, dots and bands say by their colour: kinds of packets, and trouble.
const KINDS: [&str; 5] = ["request", "read", "response", "ack", "manage"];
const TROUBLES: [&str; 3] = ["bad", "wait", "again"];
/// Colours in which words and signs are written, and what they stand on.
const WRITTEN: [&str; 13] = [
    "ink", "soft", "faint", "accent", "request", "read", "response", "ack", "bad", "wait", "again", "manage",
    "note",
];
const GROUNDS: [&str; 5] = ["back", "paper", "raised", "hover", "chosen"];
/// What rows with trouble stand on, and what is written there.
const TINTS: [&str; 3] = ["bad-tint", "wait-tint", "again-tint"];
const WRITTEN_ON_TINTS: [&str; 7] = ["ink", "soft", "faint", "bad", "wait", "again", "note"];

/// The colours of a theme, by name.
type Theme = BTreeMap<String, Srgb<u8>>;

fn themes() -> [(&'static str, Theme); 2] {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page/style.css");
    let css = std::fs::read_to_string(path).unwrap();
    let (light, rest) = css.split_once(":root[data-theme=\"dark\"]").unwrap();
    let (dark, _) = rest.split_once('}').unwrap();
    [("light", theme(light)), ("dark", theme(dark))]
}

fn theme(css: &str) -> Theme {
    let named = |line: &str| {
        let (name, value) = line.trim().strip_prefix("--")?.split_once(": ")?;
        Some((name.to_owned(), value.trim_end_matches(';').parse().ok()?))
    };
    css.lines().filter_map(named).collect()
}

/// What an eye sees of a colour.
fn seen(colour: Srgb<f32>, eye: &Matrix) -> Lab {
    let light: LinSrgb = colour.into_linear();
    let [red, green, blue] =
        eye.map(|row| (row[0] * light.red + row[1] * light.green + row[2] * light.blue).clamp(0.0, 1.0));
    Lab::from_color(LinSrgb::new(red, green, blue))
}

/// Pairs of colours that some eye does not tell apart.
fn alike(colours: &[(String, Srgb<f32>)]) -> Vec<String> {
    let mut alike = Vec::new();
    for (place, (one, first)) in colours.iter().enumerate() {
        for (other, second) in &colours[..place] {
            for (who, eye) in &EYES {
                let difference = seen(*first, eye).difference(seen(*second, eye));
                if difference < TOLD_APART {
                    alike.push(format!("{one} and {other}, {who}: {difference:.1}"));
                }
            }
        }
    }
    alike
}

fn of<'t>(theme: &'t Theme, names: &'t [&str]) -> impl Iterator<Item = (String, Srgb<f32>)> + 't {
    names.iter().map(|name| ((*name).to_owned(), theme[*name].into_format()))
}

#[test]
fn colours_that_mean_something_are_told_apart_by_everybody() {
    for (name, theme) in themes() {
        let colours: Vec<_> = of(&theme, &KINDS).chain(of(&theme, &TROUBLES)).collect();
        assert_eq!(alike(&colours), Vec::<String>::new(), "{name}");
        // Findings.
        let colours: Vec<_> = of(&theme, &["bad", "wait", "note"]).collect();
        assert_eq!(alike(&colours), Vec::<String>::new(), "{name}: severities");
    }
}

/// Where several packets share a line of pixels, and of bands, what is usual is a little transparent.
#[test]
fn what_stands_back_is_told_apart_too() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page/look.js");
    let script = std::fs::read_to_string(path).unwrap();
    assert!(script.contains(&format!("const PALE = {PALE};")), "the page has another number");
    for (name, theme) in themes() {
        let paper: Srgb<f32> = theme["paper"].into_format();
        // As browsers mix: by their encoded values.
        let pale = |(name, colour): (String, Srgb<f32>)| {
            let [red, green, blue] =
                [(paper.red, colour.red), (paper.green, colour.green), (paper.blue, colour.blue)]
                    .map(|(below, above)| below + (above - below) * PALE);
            (name, Srgb::new(red, green, blue))
        };
        let colours: Vec<_> = of(&theme, &KINDS).map(pale).chain(of(&theme, &TROUBLES)).collect();
        assert_eq!(alike(&colours), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn words_can_be_read_on_whatever_they_stand() {
    for (name, theme) in themes() {
        let mut pairs: Vec<(&str, &str)> =
            WRITTEN.iter().flat_map(|word| GROUNDS.map(|ground| (*word, ground))).collect();
        pairs.extend(WRITTEN_ON_TINTS.iter().flat_map(|word| TINTS.map(|tint| (*word, tint))));
        pairs.push(("lit-ink", "lit"));
        for (word, ground) in pairs {
            let [word_colour, ground_colour] = [word, ground].map(|name| theme[name].into_format::<f32>());
            let contrast = word_colour.relative_contrast(ground_colour);
            assert!(contrast >= READABLE, "{name}: {word} on {ground} has {contrast:.2}");
        }
    }
}

/// Pictures are on white, in the colours of the light theme.
#[test]
fn pictures_have_the_colours_of_the_page() {
    let mut out = Vec::new();
    drawn(&std::fs::read(capture("rping.pcap")).unwrap()).unwrap().picture(&mut out, None).unwrap();
    let picture = String::from_utf8(out).unwrap();
    let [(_, light), _] = themes();
    let hex = |name: &str| format!("#{:x}", light[name]);
    // The legend has all of them, in this order.
    let legend = picture.rsplit_once("READ, atomic").unwrap();
    let before = legend.0.rsplit_once("stroke=\"").unwrap().1;
    assert!(before.starts_with(&hex("read")), "{before}");
    let behind: Vec<&str> = legend.1.split("stroke=\"").skip(1).map(|part| &part[..7]).collect();
    let expected = ["response", "ack", "bad", "wait", "request"].map(hex);
    assert_eq!(behind[..5], expected, "{behind:?}");
}

/// The simulation itself: red and green look alike to those who lack their cones, blue and yellow do not.
#[test]
fn the_eyes_see_what_is_known_of_them() {
    let difference = |a: Srgb<u8>, b: Srgb<u8>, eye: usize| {
        let [a, b] = [a, b].map(|colour| seen(colour.into_format(), &EYES[eye].1));
        a.difference(b)
    };
    let (red, green) = (Srgb::new(0xb0_u8, 0x60, 0x00), Srgb::new(0x70, 0x78, 0x00));
    assert!(difference(red, green, 0) > 3.0 * difference(red, green, 2), "deuteranopia");
    let (blue, yellow) = (Srgb::new(0x00_u8, 0x00, 0xc0), Srgb::new(0xc0, 0xc0, 0x00));
    assert!((1..3).all(|eye| difference(blue, yellow, eye) > 40.0));
}
