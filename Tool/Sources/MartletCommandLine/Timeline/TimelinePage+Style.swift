extension TimelinePage {
  /// The colors have enough contrast on light and dark backgrounds (WCAG 2.2 §1.4.11). Without colors, the order of the
  /// phases, their titles and the numbers below express the same.
  static let style = """
    :root { color-scheme: light dark; --ground: #fff; --text: #1c1e21; --dim: #5d6470; --line: #dfe2e7; --row: #f5f6f8;
      --queue: #8a8f98; --dns: #0e7c86; --connect: #c2680a; --tls: #8e44ad; --request: #2b6cb0; --wait: #2f855a;
      --receive: #1d6fd8; --cache: #b08900; --good: #1f7a45; --notice: #8a5a00; --bad: #b3261e; }
    @media (prefers-color-scheme: dark) {
      :root { --ground: #16181c; --text: #e6e8eb; --dim: #9aa1ac; --line: #33373e; --row: #1f2227;
        --queue: #8d939d; --dns: #37b3bd; --connect: #e7963b; --tls: #bb86d6; --request: #6aa5e3; --wait: #58b981;
        --receive: #5b9bf0; --cache: #d6b13c; --good: #62c48b; --notice: #e0b04a; --bad: #f08a83; }
    }
    * { box-sizing: border-box; }
    body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--ground); color: var(--text);
      font: 15px/1.45 system-ui, sans-serif; }
    h1 { font-size: 1.25rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
    header p { margin: .25rem 0; color: var(--dim); }
    .legend span { margin-right: 1rem; white-space: nowrap; }
    .legend i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin-right: .35rem;
      vertical-align: -1px; }
    .axis { display: grid; grid-template-columns: 24rem 5rem 1fr; height: 1.6rem; margin-top: 1rem; color: var(--dim);
      font-size: .8rem; padding: 0 .5rem; }
    .axis div { grid-column: 3; position: relative; }
    .axis span { position: absolute; padding-left: .25rem; border-left: 1px solid var(--line); white-space: nowrap; }
    .axis span:last-child { transform: translateX(-100%); border-left: 0; border-right: 1px solid var(--line);
      padding: 0 .25rem 0 0; }
    section { border-top: 1px solid var(--line); padding: .5rem 0 .75rem; }
    h2 { display: flex; justify-content: space-between; gap: 1rem; font-size: .95rem; margin: .25rem .5rem .4rem; }
    .what { overflow-wrap: anywhere; }
    .time, .size { font-variant-numeric: tabular-nums; white-space: nowrap; color: var(--dim); }
    .error { color: var(--bad); margin: .25rem .5rem .5rem; }
    summary { display: grid; grid-template-columns: 24rem 5rem 1fr; align-items: center; padding: .3rem .5rem;
      border-radius: 6px; cursor: pointer; list-style: none; }
    summary::-webkit-details-marker { display: none; }
    summary:hover, details[open] > summary { background: var(--row); }
    summary:focus-visible { outline: 2px solid var(--receive); outline-offset: 1px; }
    .label { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; padding-right: 1rem; }
    .label::before { content: "▸ "; color: var(--dim); }
    details[open] .label::before { content: "▾ "; }
    .size { text-align: right; padding-right: 1rem; }
    .bars { position: relative; height: 1.1rem; border-left: 1px solid var(--line); border-right: 1px solid var(--line); }
    .bars i { position: absolute; top: .1rem; height: .9rem; border-radius: 2px; }
    .queue { background: var(--queue); } .dns { background: var(--dns); } .connect { background: var(--connect); }
    .tls { background: var(--tls); } .request { background: var(--request); } .wait { background: var(--wait); }
    .receive { background: var(--receive); } .cache { background: var(--cache); }
    b.good { color: var(--good); } b.notice { color: var(--notice); } b.bad { color: var(--bad); }
    .facts { padding: .25rem .5rem 1rem 1.6rem; }
    h3 { font-size: .85rem; margin: .75rem 0 .25rem; color: var(--dim); }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0; }
    dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
    @media (max-width: 52rem) {
      summary, .axis { grid-template-columns: 1fr 4rem; }
      .bars, .axis div { grid-column: 1 / -1; }
    }
    @media print { body { max-width: none; } .bars i { print-color-adjust: exact; } }
    """
}
