import Foundation
import Martlet
import MartletCombine
import MartletImages
import MartletSQLite
import MartletTasks

extension EntryPoint {
  /// The forms of a task of `MartletTasks`.
  static let taskForms: [EntryPoint] = [
    EntryPoint("NetworkTask: value") { try await $0.jsonTask($1).value()["target"] },
    EntryPoint("NetworkTask: value with map, retry and timeout") { service, ticket in
      try await service.jsonTask(ticket).map { $0["target"] }.retry(2).timeout(.seconds(50)).value()
    },
    EntryPoint("NetworkTask: execute") { service, ticket in
      let running = Running()
      let task = service.jsonTask(ticket)
      return Operation {
        running.start {
          await withTaskCancellationHandler {
            ticket.complete(.init(await task.execute().result))
          } onCancel: {
            ticket.note()
          }
        }
      } cancel: {
        running.cancel()
      }
    },
    EntryPoint("NetworkTask: executePublisher") { service, ticket in
      .subscription(
        ticket, to: { service.jsonTask(ticket).executePublisher() }, text: { try? $0.result.get()["target"] })
    },
  ]

  static let images: [EntryPoint] = [
    EntryPoint("image") { service, ticket in
      _ = try await service.images.image(for: service.picture(ticket.number))
      return nil
    },
    EntryPoint("image that others load, too") { service, ticket in
      _ = try await service.images.image(for: service.picture(ticket.number / 8))
      return nil
    },
    EntryPoint("imagePublisher") { service, ticket in
      .subscription(
        ticket, to: { service.images.imagePublisher(for: service.picture(ticket.number)) }, text: { _ in nil })
    },
    EntryPoint("phases of an image") { service, ticket in
      for await phase in service.images.phases(for: service.picture(ticket.number)) {
        ticket.note()
        if let error = phase.error { throw error }
      }
      return nil
    },
    EntryPoint("ImageSlot") { service, ticket in
      let slot = ImageSlot(loader: service.images)
      return Operation {
        slot.show(service.picture(ticket.number))
        slot.show(service.picture(ticket.number + 1))
        ticket.complete(.answer(nil))
      } cancel: {
        slot.show(nil)
      }
    },
    EntryPoint("ImagePrefetcher") { service, ticket in
      let prefetcher = ImagePrefetcher(loader: service.images)
      return Operation {
        prefetcher.prefetch((0..<6).map { service.picture(ticket.number / 4 + $0) })
        ticket.complete(.answer(nil))
      } cancel: {
        prefetcher.prefetch([])
      }
    },
  ]

  static let stores: [EntryPoint] = [
    EntryPoint("values in SQLite") { service, ticket in
      let key = "key \(ticket.number % 64)"
      try await service.values.set(Data(ticket.mark.utf8), for: key)
      _ = try await service.values.value(for: key)
      if ticket.number % 16 == 0 { try await service.values.removeValue(for: key) }
      return nil
    },
    EntryPoint("removal of cached responses") { service, ticket in
      try await service.cache.remove(service.url("/fresh?\(ticket.number / 8)"))
      return nil
    },
    EntryPoint("removal of cookies") { service, ticket in
      try await service.jar.removeAll()
      return nil
    },
  ]
}

extension StormService {
  fileprivate func jsonTask(_ ticket: Ticket) -> NetworkTask<[String: String]> {
    NetworkRequest().path("/json").queryItem(name: "n", value: "\(ticket.number).").task(session: tasks)
  }

  fileprivate func picture(_ number: Int) -> ImageRequest { ImageRequest(url("/picture?\(number)")) }
}

extension Ticket.Outcome {
  fileprivate init(_ result: Result<[String: String], any Error>) {
    switch result {
    case .success(let value): self = .answer(value["target"])
    case .failure(let error): self = .failure(error)
    }
  }
}
