import Foundation

/// Bars of throughput relative to the first client, as an SVG that can be read on light and on dark backgrounds.
struct Chart {
  /// A group of bars, one for each client; nil for a client that did not take part.
  private struct Group {
    let name: String
    let ratios: [Figure?]
  }

  private let clients: [String]
  private let groups: [Group]

  /// - Parameters:
  ///   - ratios: a table with a row for each client and a column for each workload.
  ///   - clients: the clients to show.
  ///   - workloads: the workloads to show.
  init(_ ratios: ResultTable, clients: Set<String>, workloads: Set<String>) {
    let rows = ratios.rows.filter { clients.contains($0.name) }
    self.clients = rows.map(\.name)
    groups = ratios.columns.dropFirst().enumerated().filter { workloads.contains($0.element) }.map { index, name in
      Group(name: name, ratios: rows.map { $0.figures[index] })
    }
  }

  private let title = "Throughput relative to the better C loop (1.0); longer is better; lines: least and most"

  private static let colors = [
    "#8b949e", "#d9480f", "#f08c00", "#1c7ed6", "#4dabf7", "#7048e8", "#2f9e44", "#c2255c", "#0c8599",
  ]
  private let barHeight = 12.0
  private let nameWidth = 250.0
  private let plotWidth = 500.0

  var svg: String {
    let most = max(1, groups.flatMap(\.ratios).compactMap { $0?.high ?? $0?.median }.max() ?? 1)
    let unit = plotWidth / most
    var elements = [text(0, 16, title, "b")]
    var y = 36.0
    for (index, client) in clients.enumerated() {
      let x = Double(index % 3) * 260
      elements.append(bar(x, y - 9, 10, index) + text(x + 16, y, client))
      if index % 3 == 2 || index == clients.count - 1 { y += 18 }
    }
    let top = y
    for group in groups {
      let present = group.ratios.indices.compactMap { index in group.ratios[index].map { (index, $0) } }
      guard !present.isEmpty else { continue }
      y += 10
      elements.append(text(0, y + barHeight * Double(present.count) / 2 + 4, group.name))
      for (index, ratio) in present {
        let high = ratio.high ?? ratio.median
        elements.append(bar(nameWidth, y, ratio.median * unit, index))
        if let low = ratio.low {
          elements.append(bar(nameWidth + low * unit, y + barHeight / 2 - 2, (high - low) * unit, nil, height: 2))
        }
        elements.append(text(nameWidth + high * unit + 5, y + barHeight - 2, String(format: "%.2f", ratio.median), "n"))
        y += barHeight
      }
    }
    let x = nameWidth + unit
    elements.append("<line x1=\"\(fixed(x))\" y1=\"\(fixed(top))\" x2=\"\(fixed(x))\" y2=\"\(fixed(y + 6))\"/>")
    return document(elements, height: y + 16)
  }

  private func document(_ elements: [String], height: Double) -> String {
    let width = nameWidth + plotWidth + 50
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(fixed(width)) \(fixed(height))" width="\(fixed(width))" role="img">
      <title>\(escaped(title))</title>
      <style>
      text { font: 12px system-ui, sans-serif; fill: #24292f } .b { font-weight: 600; font-size: 14px } .n { font-size: 10px }
      line { stroke: #57606a; stroke-dasharray: 3 3 }
      @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } line { stroke: #adbac7 } }
      </style>
      \(elements.joined(separator: "\n"))
      </svg>

      """
  }

  /// - Parameter client: gives the color; nil for that of the range.
  private func bar(_ x: Double, _ y: Double, _ width: Double, _ client: Int?, height: Double? = nil) -> String {
    let color = client.map { Self.colors[$0 % Self.colors.count] } ?? "#57606a"
    let height = height ?? barHeight - 2
    return
      "<rect x=\"\(fixed(x))\" y=\"\(fixed(y))\" width=\"\(fixed(width))\" height=\"\(fixed(height))\" fill=\"\(color)\"/>"
  }

  private func text(_ x: Double, _ y: Double, _ content: String, _ style: String? = nil) -> String {
    let attribute = style.map { " class=\"\($0)\"" } ?? ""
    return "<text x=\"\(fixed(x))\" y=\"\(fixed(y))\"\(attribute)>\(escaped(content))</text>"
  }

  private func fixed(_ value: Double) -> String { String(format: "%.1f", value) }

  private func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }
}
