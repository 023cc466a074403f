import Martlet

// A stranger's transport, store, source of credentials and API, on the public API alone; then a store and a source that
// also use SPIs.

guard let address = URL(string: "https://library.example/books") else { fatalError("not a URL") }
let library = Library(at: address, over: Shelf(books: ["1": "Birds"]), KeyRing(), Notebook())
let first = try await library.book("1")
let second = try await library.book("1")
precondition(first.title == "Birds" && first.visits == 0 && second.visits == 1)
do {
  _ = try await library.book("2")
  preconditionFailure("there is no such book")
} catch Library.Failure.unknownBook(let name) {
  print("\(second.title), read \(second.visits + 1) times; there is no book \(name)")
}

let renewing = Library(at: address, over: Shelf(books: ["1": "Birds"]), RenewedKeyRing(), Drawer())
_ = try await renewing.book("1")
let again = try await renewing.book("1")
precondition(again.visits == 1)
