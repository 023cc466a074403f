/// A table that is also readable in a terminal: columns as wide as necessary, numbers to the right.
struct MarkdownTable {
  private var rows: [[String]]

  init(_ header: String...) { rows = [header] }

  init(_ header: [String]) { rows = [header] }

  mutating func add(_ cells: [String]) { rows.append(cells) }

  var text: String {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    var lines = rows.map { row in line(row, widths) }
    let rule = widths.enumerated().map { column, width in
      column == 0 ? String(repeating: "-", count: width) : String(repeating: "-", count: width - 1) + ":"
    }
    lines.insert("| " + rule.joined(separator: " | ") + " |", at: 1)
    return lines.joined(separator: "\n")
  }

  private func line(_ row: [String], _ widths: [Int]) -> String {
    let cells = row.enumerated().map { column, cell in
      let padding = String(repeating: " ", count: widths[column] - cell.count)
      return column == 0 ? cell + padding : padding + cell
    }
    return "| " + cells.joined(separator: " | ") + " |"
  }
}
