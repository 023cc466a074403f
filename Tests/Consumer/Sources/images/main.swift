#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import MartletImages

let pixels = [UInt8](repeating: 200, count: 4 * 4 * 4)
let png = try ImageEncoder.encode(Bitmap(size: PixelSize(width: 4, height: 4), pixels: pixels), as: .png)
print(try ImageDecoder.decode(png).size)
