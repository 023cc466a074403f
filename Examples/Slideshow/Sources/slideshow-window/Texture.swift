import CGTK
import MartletImages

extension Widget {
  /// For pictures: shows the pixels. They are copied once, into memory that GTK frees when it no longer needs them.
  func show(_ bitmap: Bitmap) {
    let bytes = bitmap.pixels.withUnsafeBytes { g_bytes_new($0.baseAddress, gsize($0.count)) }
    let texture = gdk_memory_texture_new(
      Int32(bitmap.size.width), Int32(bitmap.size.height), GDK_MEMORY_R8G8B8A8, bytes, gsize(bitmap.bytesPerRow))
    // Each of the two is retained by the next one: the bytes by the texture, the texture by the widget.
    g_bytes_unref(bytes)
    gtk_picture_set_paintable(opaque, texture)
    g_object_unref(UnsafeMutableRawPointer(texture))
  }

  /// For pictures: shows nothing, and releases the pixels.
  func clearPicture() { gtk_picture_set_paintable(opaque, nil) }
}
