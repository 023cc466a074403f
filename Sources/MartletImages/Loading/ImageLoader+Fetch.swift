import MartletEngine
import MartletSemantics
import Synchronization

extension ImageLoader {
  /// Loads a file, and tells those who watch how far it has come.
  func fetch(_ asked: HTTPRequest, for load: Load) async throws -> ImageFileContent {
    var request = asked
    request.options.cachePolicy = load.identity.policy
    let (body, response) = try await session.bytes(for: request)
    guard response.status.isSuccessful else {
      let text = await body.beginning()
      throw ImageLoadError(.status, "the server answered \(response.status)").placed(at: asked.url, response.head, text)
    }
    do {
      return ImageFileContent(data: try await collect(body, for: load), response: response)
    } catch let error as ImageLoadError {
      if error.isFiles { await forgetStored(asked.url, response.url, load) }
      throw error.described(by: response.head, at: response.url, asked: asked.url).placed(at: asked.url, response.head)
    }
  }

  private func collect(_ body: ResponseBody, for load: Load) async throws -> Data {
    let limit = configuration.maximumEncodedBytes
    var arriving = ArrivingImage(configuration, threads)
    for try await chunk in body {
      guard arriving.count + chunk.count <= limit, body.length ?? 0 <= Int64(limit) else {
        body.cancel()
        throw ImageLoadError(
          .tooLarge, "the file has more than \(limit) bytes: raise ImageLoader.Configuration.maximumEncodedBytes")
      }
      let watching = state.withLock { $0.loads.watching(load.number) }
      do {
        let preview = try await arriving.append(chunk, watching: watching.first, load.urgency)
        let progress = TransferProgress(.received, completed: Int64(arriving.count), total: body.length)
        for seat in watching { seat.observe?(.loading(progress)) }
        guard let preview else { continue }
        for seat in watching where seat.rendition == preview.rendition { seat.observe?(.preview(preview.bitmap)) }
      } catch {
        body.cancel()
        throw error
      }
    }
    return arriving.data
  }
}

extension ResponseBody {
  /// At most 64 KiB, and what came before it broke off.
  fileprivate func beginning() async -> Data {
    var data = Data()
    do {
      for try await chunk in self {
        data.append(chunk)
        if data.count >= 64 << 10 { break }
      }
    } catch {}
    cancel()
    return data.prefix(64 << 10)
  }
}
