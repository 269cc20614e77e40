// What a packet is, short: its line without what all packets have (`label` in `model.rs` does the same).

/** Of what a line has behind the addresses, what tells packets of a ladder apart. */
function labelOf(line) {
  let what = line.trimStart();
  const comment = what.indexOf(" # ");
  if (comment >= 0) what = what.slice(0, comment);
  const units = what.indexOf(" | ");
  if (units >= 0) return what.slice(units + 3).replaceAll(" crc ok", "").replaceAll(" crc absent", "").replaceAll("RDMAP ", "");
  // Tags stand in front of the carrier, which all packets have; here behind what the packet is.
  const [, tags, rest] = /^((?:vlan=\S+ |dscp=\S+ |ecn=\S+ )*)RoCE (.*)$/.exec(what) ?? [null, "", what];
  what = tags === "" ? rest : `${rest} ${tags.trimEnd()}`;
  what = what.replace(" icrc ok", "").replace(" vcrc absent", "");
  const [before, behind] = what.split(/ qp=0x[^ ]*/, 2);
  // Of a management datagram only what it says.
  if (behind?.startsWith(" CM ")) return behind.slice(1);
  const label = before + (behind ?? "");
  // Of a NAK first what it refuses.
  const [, transport, behindName] = /^(XRC |RD |)ACKNOWLEDGE (.*)$/s.exec(label) ?? [];
  const words = behindName?.split(" ") ?? [];
  const at = words.findIndex((word) => /^(nak|rnr)=/.test(word));
  if (at < 0) return label;
  const [refusal] = words.splice(at, 1);
  const first = refusal.startsWith("nak=") ? `NAK ${refusal.slice(4)}` : `RNR_NAK ${refusal}`;
  return transport + [first, ...words].join(" ");
}
