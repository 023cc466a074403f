extension TimelinePage {
  /// The layout of the page; ``Waterfall/style`` has the colors and bars.
  static let style = """
    * { box-sizing: border-box; }
    body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--ground); color: var(--text);
      font: 15px/1.45 system-ui, sans-serif; }
    h1 { font-size: 1.25rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
    header p { margin: .25rem 0; color: var(--dim); }
    .legend span { margin-right: 1rem; white-space: nowrap; }
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
