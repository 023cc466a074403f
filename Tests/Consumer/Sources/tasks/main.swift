import MartletTasks

struct Order: Codable, Sendable {
  var id: Int
}

Container.shared.networkSession = .single { MockSession.shared }
MockSession.shared["orders/1"] = .response(encoding: Order(id: 1))
let task: NetworkTask<Order> = NetworkRequest().path("/orders/1").task()
print(try await task.value().id)
