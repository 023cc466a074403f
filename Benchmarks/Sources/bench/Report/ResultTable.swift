/// Figures with names, which are printed as Markdown and written as JSON.
struct ResultTable: Codable {
  struct Row: Codable {
    let name: String
    let figures: [Figure?]
  }

  /// Such as `throughput`.
  let key: String
  /// The meaning of the figures, and which are good: printed above the table.
  let title: String
  /// The heads of the columns; the first is that of the rows' names.
  let columns: [String]
  var rows: [Row] = []
  /// The digits after the point in Markdown.
  var digits = 0
  /// How busy the machine was; nil if it does not matter, or in files of earlier versions.
  var load: String?

  mutating func add(_ name: String, _ figures: [Figure?]) { rows.append(Row(name: name, figures: figures)) }

  mutating func add(_ name: String, _ values: Double?...) { add(name, values.map { $0.map { Figure($0) } }) }

  /// Whether another run's table has the same figures.
  func isLike(_ other: ResultTable) -> Bool {
    key == other.key && title == other.title && columns == other.columns
  }

  var markdown: String {
    var table = MarkdownTable(columns)
    for row in rows { table.add([row.name] + row.figures.map(cell)) }
    return title + (load.map { ". " + $0 } ?? "") + "\n\n" + table.text
  }

  private func cell(_ figure: Figure?) -> String {
    guard let figure else { return "–" }
    let median = Self.number(figure.median, digits)
    guard let low = figure.low, let high = figure.high else { return median }
    return "\(median) (\(Self.number(low, digits))–\(Self.number(high, digits)))"
  }

  private static func number(_ value: Double, _ digits: Int) -> String {
    guard value.isFinite else { return "–" }
    let scale = (0..<digits).reduce(1) { scale, _ in scale * 10 }
    let scaled = Int((abs(value) * Double(scale)).rounded())
    let fraction = digits == 0 ? "" : "." + String(String(scale + scaled % scale).dropFirst())
    return (value < 0 && scaled > 0 ? "-" : "") + String(scaled / scale) + fraction
  }
}

extension ResultTable {
  /// Combines the tables of several runs.
  init(combining tables: [ResultTable]) {
    self = tables[0]
    load = Set(tables.compactMap(\.load)).sorted().joined(separator: " ")
    if load?.isEmpty == true { load = nil }
    let names = tables.flatMap(\.rows).map(\.name)
    rows = names.indices.filter { !names[..<$0].contains(names[$0]) }.map { index in
      let runs = tables.compactMap { $0.rows.first { $0.name == names[index] } }
      return Row(
        name: names[index],
        figures: (0..<columns.count - 1).map { column in Figure(runs.compactMap { $0.figures[column]?.median }) })
    }
  }
}
