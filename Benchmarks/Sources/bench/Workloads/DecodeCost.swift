import CTurbo
import Foundation
import MartletImages
import MeasuredClient

/// The costs of pictures: a photograph of 12 megapixels, compared with libjpeg-turbo called from C, and with Pillow.
///
/// In every round each program does each task once, one after another, on one thread.
struct DecodeCost {
  enum Work {
    case decode(PixelSize?)
    case encode(ImageEncoding)
  }

  struct Task {
    let name: String
    let work: Work
    /// The action of the C code: it decodes at this part of the size, or encodes; nil if it cannot do the task.
    var divisor: Int?
    /// The size to which C scales the decoded picture; nil if it does not scale.
    var fitted: PixelSize?
    /// The action of Pillow: `read` decodes, `image` is the decoded picture, `out` is empty.
    let python: String
  }

  /// Milliseconds; nil for programs that do not take part.
  struct Row {
    let task: Task
    var ours: [Double] = []
    var c: [Double] = []
    var pillow: [Double] = []
  }

  static let size = PixelSize(width: 4000, height: 3000)

  private static func box(_ side: Int) -> PixelSize { PixelSize(width: side, height: side) }

  static let tasks = [
    Task(
      name: "decode", work: .decode(nil), divisor: 1, python: "read(None)"),
    Task(name: "decode to 1/4", work: .decode(box(1000)), divisor: 4, python: "read(1000)"),
    Task(name: "decode to 1/8", work: .decode(box(500)), divisor: 8, python: "read(500)"),
    Task(
      name: "decode to 777×583", work: .decode(box(777)), divisor: 4, fitted: PixelSize(width: 777, height: 583),
      python: "read(777)"),
    Task(
      name: "decode to 1333×1000", work: .decode(box(1333)), divisor: 2, fitted: PixelSize(width: 1333, height: 1000),
      python: "read(1333)"),
    Task(
      name: "encode JPEG", work: .encode(.jpeg()), divisor: 1,
      python: "image.convert('RGB').save(out, 'JPEG', quality=85)"),
    Task(name: "encode PNG", work: .encode(.png), python: "image.convert('RGB').save(out, 'PNG')"),
    Task(name: "encode WebP", work: .encode(.webP()), python: "image.save(out, 'WEBP', quality=80)"),
  ]

  private let bitmap: Bitmap
  private let file: URL
  private let data: Data
  private let hasPillow: Bool

  /// Makes the photograph by repeating one from the slideshow.
  init(progress: (String) -> Void) throws {
    let photo = URL(filePath: #filePath).appending(
      path: "../../../../../Examples/Slideshow/Photos/hubble-deep-field.jpg")
    let tile = try ImageDecoder.decode(Data(contentsOf: photo.standardized))
    var pixels: [UInt8] = []
    for y in 0..<Self.size.height {
      let row = tile.pixels[(y % tile.size.height) * tile.bytesPerRow..<(y % tile.size.height + 1) * tile.bytesPerRow]
      var width = 0
      while width < Self.size.width {
        let part = row.prefix(min(tile.size.width, Self.size.width - width) * Bitmap.bytesPerPixel)
        pixels += part
        width += part.count / Bitmap.bytesPerPixel
      }
    }
    bitmap = Bitmap(size: Self.size, pixels: pixels)
    file = FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID()).jpg")
    data = try ImageEncoder.encode(bitmap, as: .jpeg(quality: 85))
    try data.write(to: file)
    hasPillow = Self.pillow("import PIL") != nil
    if !hasPillow { progress("Pillow is not installed (python3-pil): it does not take part") }
  }

  func run(rounds: Int, progress: (String) -> Void) throws -> [Row] {
    defer { try? FileManager.default.removeItem(at: file) }
    var rows = Self.tasks.map { Row(task: $0) }
    for round in 0...rounds {
      progress(round == 0 ? "decode: warming up" : "decode: round \(round) of \(rounds)")
      for index in rows.indices {
        let task = rows[index].task
        let turns = [{ try ours(task.work) }, { try c(task) }]
        let times =
          try (round.isMultiple(of: 2) ? turns.map { try $0() } : turns.reversed().map { try $0() }.reversed())
        guard round > 0 else { continue }
        if let time = times[0] { rows[index].ours.append(time) }
        if let time = times[1] { rows[index].c.append(time) }
      }
      guard round > 0, hasPillow, let times = pillowTimes() else { continue }
      for (index, time) in times.enumerated() where index < rows.count { rows[index].pillow.append(time) }
    }
    return rows
  }

  private func milliseconds(_ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try body()
    return (ContinuousClock.now - start) / .milliseconds(1)
  }

  private func ours(_ work: Work) throws -> Double? {
    try milliseconds {
      switch work {
      case .decode(let box): _ = try ImageDecoder.decode(data, options: .init(fitting: box))
      case .encode(let encoding): _ = try ImageEncoder.encode(bitmap, as: encoding)
      }
    }
  }

  private func c(_ task: Task) throws -> Double? {
    guard let divisor = task.divisor else { return nil }
    return try milliseconds {
      let succeeded =
        if case .encode = task.work {
          cturbo_encode(bitmap.pixels, Int32(Self.size.width), Int32(Self.size.height))
        } else {
          data.withUnsafeBytes { decode($0.bindMemory(to: UInt8.self), task, Int32(divisor)) }
        }
      guard succeeded == 1 else { throw BenchError("libjpeg-turbo failed at '\(task.name)'") }
    }
  }

  private func decode(_ bytes: UnsafeBufferPointer<UInt8>, _ task: Task, _ divisor: Int32) -> Int32 {
    guard let size = task.fitted else { return cturbo_decode(bytes.baseAddress, bytes.count, divisor) }
    return cturbo_decode_fitted(bytes.baseAddress, bytes.count, divisor, Int32(size.width), Int32(size.height))
  }

  /// One time for each task, measured within Python.
  private func pillowTimes() -> [Double]? {
    let tasks = Self.tasks.map { "lambda: \($0.python)" }.joined(separator: ",\n  ")
    let script = """
      import io, sys, time
      from PIL import Image
      data = open("\(file.path())", "rb").read()
      image = Image.open(io.BytesIO(data)).convert("RGBA")
      def read(side):
        i = Image.open(io.BytesIO(data))
        if side:
          i.draft("RGB", (side, side))
          i = i.resize((side, side * 3 // 4), Image.BOX)
        return i.convert("RGBA")
      for task in (
        \(tasks)
      ):
        out = io.BytesIO()
        start = time.perf_counter()
        task()
        print((time.perf_counter() - start) * 1000)
      """
    return Self.pillow(script).map { $0.split(separator: "\n").compactMap { Double($0) } }
  }

  /// The output of the script; nil if it fails, or if there is no Python.
  private static func pillow(_ script: String) -> String? {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/python3")
    process.arguments = ["-c", script]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? text : nil
  }

  static func table(_ rows: [Row]) -> ResultTable {
    var table = ResultTable(
      key: "decode",
      title: "**Pictures** of \(size) pixels: milliseconds, and speed relative to others (higher is better)",
      columns: ["task", "MartletImages", "C", "Pillow", "speed : C", "speed : Pillow"], digits: 2)
    for row in rows {
      let ratios = [row.c, row.pillow].map { Figure(zip($0, row.ours).map { $0 / $1 }) }
      table.add(row.task.name, [row.ours, row.c, row.pillow].map { Figure($0) } + ratios)
    }
    return table
  }
}
