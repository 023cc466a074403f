// A service's requests as values. They are run in three ways, here in a session of mocks.

import MartletTasks
import MartletTasksTesting

struct Category: Codable, Sendable {
  var title: String
}

struct Shop {
  func categories(tags: [String]) -> NetworkTask<[Category]> {
    NetworkRequest().path("/categories").queryItem(name: "tag", value: tags).task()
  }
}

MockSession.install()  // the container's session now answers from a table
MockSession.shared["categories"] = .response(encoding: [Category(title: "Shoes")])

let categories = try await Shop().categories(tags: ["new"]).value()  // or .value { result in }, or .valueProvider()
let response = await Shop().categories(tags: ["new"]).execute()  // with the status, and the failure as a value

print(categories.map(\.title), response.statusCode ?? 0)
print(MockSession.shared.requests.map(\.url.absoluteString))

// Prints:
// ["Shoes"] 200
// ["https://mock.invalid/categories?tag=new", "https://mock.invalid/categories?tag=new"]
