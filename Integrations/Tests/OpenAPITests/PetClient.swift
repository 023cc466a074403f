import HTTPTypes
import Martlet
@_spi(Generated) import OpenAPIRuntime

/// A client of a small API, written by hand in the form in which swift-openapi-generator makes one: it renders requests and
/// reads responses with the same converter.
struct PetClient: Sendable {
  private let client: UniversalClient
  private var converter: Converter { client.converter }

  init(serverURL: URL, transport: any ClientTransport, middlewares: [any ClientMiddleware] = []) {
    client = UniversalClient(serverURL: serverURL, transport: transport, middlewares: middlewares)
  }

  struct Pet: Codable, Hashable, Sendable {
    var id: Int64
    var name: String
  }

  /// `GET /pets`
  func listPets(limit: Int32?) async throws -> (pets: [Pet], cookies: [String]) {
    try await client.send(
      input: limit, forOperation: "listPets",
      serializer: { limit in
        let path = try converter.renderedPath(template: "/pets", parameters: [])
        var request = HTTPTypes.HTTPRequest(soar_path: path, method: .get)
        try converter.setQueryItemAsURI(in: &request, style: .form, explode: true, name: "limit", value: limit)
        return (request, nil)
      },
      deserializer: { response, body in
        let pets = try await converter.getResponseBodyAsJSON([Pet].self, from: body, transforming: { $0 })
        return (pets, response.headerFields[values: .setCookie])
      })
  }

  /// `POST /pets`
  func createPet(_ pet: Pet) async throws -> Pet {
    try await client.send(
      input: pet, forOperation: "createPet",
      serializer: { pet in
        let path = try converter.renderedPath(template: "/pets", parameters: [])
        var request = HTTPTypes.HTTPRequest(soar_path: path, method: .post)
        let body = try converter.setRequiredRequestBodyAsJSON(
          pet, headerFields: &request.headerFields, contentType: "application/json; charset=utf-8")
        return (request, body)
      },
      deserializer: { _, body in
        try await converter.getResponseBodyAsJSON(Pet.self, from: body, transforming: { $0 })
      })
  }

  /// `PUT /pets/{petId}/photo`
  func uploadPhoto(of pet: String, _ photo: HTTPBody) async throws -> Int {
    try await client.send(
      input: photo, forOperation: "uploadPhoto",
      serializer: { photo in
        let path = try converter.renderedPath(template: "/pets/{}/photo", parameters: [pet])
        var request = HTTPTypes.HTTPRequest(soar_path: path, method: .put)
        let body = try converter.setRequiredRequestBodyAsBinary(
          photo, headerFields: &request.headerFields, contentType: "application/octet-stream")
        return (request, body)
      },
      deserializer: { response, _ in response.status.code })
  }

  /// `GET /pets/{petId}/photo`
  func downloadPhoto(of pet: String) async throws -> HTTPBody {
    try await client.send(
      input: pet, forOperation: "downloadPhoto",
      serializer: { pet in
        let path = try converter.renderedPath(template: "/pets/{}/photo", parameters: [pet])
        return (HTTPTypes.HTTPRequest(soar_path: path, method: .get), nil)
      },
      deserializer: { _, body in
        guard let body else { throw HTTPError(.unexpectedResponse, "there is no photo") }
        return body
      })
  }

  /// `DELETE /pets/{petId}`. Returns whether the response has a body.
  func deletePet(_ pet: String) async throws -> Bool {
    try await client.send(
      input: pet, forOperation: "deletePet",
      serializer: { pet in
        let path = try converter.renderedPath(template: "/pets/{}", parameters: [pet])
        return (HTTPTypes.HTTPRequest(soar_path: path, method: .delete), nil)
      },
      deserializer: { _, body in body != nil })
  }
}
