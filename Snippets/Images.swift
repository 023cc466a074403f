// Pictures: each is loaded once, in the size that is needed. Also a cell that shows one after another, and a window
// ahead of a list.

import Martlet
import MartletImages
import MartletTesting

let photo = try ImageEncoder.encode(
  Bitmap(size: PixelSize(width: 600, height: 400), pixels: Array(repeating: 200, count: 960_000)), as: .png)
let server = try LoopbackServer { request in
  request.path == "/9.png" ? .text("<!DOCTYPE html><title>Log in</title>") : .data(photo, type: "image/png")
}
let site = server.url("/")
let session = HTTPSession()
let pictures = (0..<10).map {
  ImageRequest(site.appending(path: "\($0).png"), targetSize: PixelSize(width: 96, height: 96), contentMode: .fill)
}

func draw(_ bitmap: Bitmap) { print("drawn:", bitmap.size) }

let loader = ImageLoader(session: session)
let image = try await loader.image(for: pictures[0])  // an ImageLoadError tells why there is none
print(image.bitmap.size, image.source, try await loader.image(for: pictures[0]).source)

let ahead = ImagePrefetcher(loader: loader)
ahead.prefetch(pictures[1...4])  // loads of images that leave the window are cancelled

let slot = ImageSlot(loader: loader)  // never shows an older picture over a newer one
slot.show(pictures[1])
for await phase in slot.phases where !phase.isLoading {
  if let bitmap = phase.bitmap { draw(bitmap) }
  if let error = phase.error { print(error.kind) }
  if phase.error == nil { slot.show(pictures[9]) } else { break }
}

// One picture for everybody that requests it at the same time.
let crowd = Task { try await loader.image(for: pictures[5]) }
_ = try await (crowd.value, loader.image(for: pictures[5]))
print(server.requests.filter { $0.path == "/5.png" }.count)

// Memory: limited, freed by hand, and freed when the kernel reports that it is short.
loader.configuration.cache?.trim(to: 16 << 20)
let trimming = Task { await loader.configuration.cache?.trim(on: MemoryPressure.signals()) }
trimming.cancel()
try await loader.removePartition("anna")  // when a user signs out

// Prints:
// 144×96 network memory
// drawn: 144×96
// notAnImage
// 1
