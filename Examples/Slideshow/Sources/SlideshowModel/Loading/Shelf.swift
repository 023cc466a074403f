import Martlet

/// What an ``ImageCache`` holds: the machine inside its lock.
struct Shelf {
  typealias LoadTask = Task<Result<Picture, PictureError>, Never>

  struct Load {
    let id: Int
    let task: LoadTask
    var waiters = 1
  }

  enum Claim {
    case held(Picture)
    case failed(PictureError)
    case wait(Load)
  }

  let limit: Int
  private var pictures: [URL: Picture] = [:]
  /// The URLs of the pictures, the one used last at the end.
  private var order: [URL] = []
  private var failures: [URL: PictureError] = [:]
  private var loads: [URL: Load] = [:]
  private var lastID = 0

  init(limit: Int) { self.limit = limit }

  var count: Int { pictures.count }

  mutating func picture(for url: URL) -> Picture? {
    guard let picture = pictures[url] else { return nil }
    order.removeAll { $0 == url }
    order.append(url)
    return picture
  }

  mutating func set(_ picture: Picture?, for url: URL) {
    loads[url] = nil
    failures[url] = nil
    order.removeAll { $0 == url }
    pictures[url] = picture
    guard picture != nil else { return }
    order.append(url)
    if order.count > limit { pictures[order.removeFirst()] = nil }
  }

  mutating func claim(_ url: URL, start: (Int) -> LoadTask) -> Claim {
    if let picture = picture(for: url) { return .held(picture) }
    if let error = failures[url] { return .failed(error) }
    if var load = loads[url] {
      load.waiters += 1
      loads[url] = load
      return .wait(load)
    }
    lastID += 1
    let load = Load(id: lastID, task: start(lastID))
    loads[url] = load
    return .wait(load)
  }

  /// Takes the result of a load, unless something newer has taken its place.
  mutating func finish(_ url: URL, id: Int, _ result: Result<Picture, PictureError>) {
    guard loads[url]?.id == id else { return }
    switch result {
    case .success(let picture): set(picture, for: url)
    case .failure(.cancelled): loads[url] = nil
    case .failure(let error):
      loads[url] = nil
      failures[url] = error
    }
  }

  /// One waiter less; the task, if it was the last one.
  mutating func leave(_ url: URL, id: Int) -> LoadTask? {
    guard var load = loads[url], load.id == id else { return nil }
    load.waiters -= 1
    loads[url] = load.waiters == 0 ? nil : load
    return load.waiters == 0 ? load.task : nil
  }

  mutating func removeAll() {
    pictures = [:]
    order = []
    failures = [:]
    loads = [:]
  }
}
