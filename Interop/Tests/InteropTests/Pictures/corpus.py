"""Makes pictures of every kind with other people's tools, and decodes them with other people's decoders.

    corpus.py FOLDER     writes the pictures, their pixels (.rgba: R, G, B, A, row after row) and corpus.json

corpus.json is a list of {file, pixels: [a file for each frame], width, height, worst, mean}. The last two are the allowed
deviation of a pixel's channel, at most and on average, weighted with the alpha.
"""
import io, json, os, struct, subprocess, sys, zlib
from PIL import Image, ImageCms, ImageOps, ImageSequence

os.chdir(sys.argv[1])
WIDTH, HEIGHT = 37, 23
corpus = []


def run(*command, input=None):
    return subprocess.run(command, input=input, check=True, capture_output=True).stdout


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)
    return name


def expect(name, *frames, worst=2, mean=0.5):
    """Records that a file shall decode to these RGBA pictures."""
    pixels = [write(f"{name}.{number}.rgba", frame.tobytes()) for number, frame in enumerate(frames)]
    size = dict(width=frames[0].width, height=frames[0].height)
    corpus.append(dict(file=name, pixels=pixels, worst=worst, mean=mean, **size))


def drawn(width=WIDTH, height=HEIGHT):
    """A smooth picture with alpha."""
    image = Image.new("RGBA", (width, height))
    for y in range(height):
        for x in range(width):
            across, down = 255 * x // max(1, width - 1), 255 * y // max(1, height - 1)
            image.putpixel((x, y), (across, down, (across + down) // 2, 255 - across // 2))
    return image


PICTURE = drawn()
RGB = PICTURE.convert("RGB")


# --- Profiles --------------------------------------------------------------------------------------------------------

def fixed(*values):
    return b"".join(struct.pack(">i", round(value * 65536)) for value in values)


def profile(space, connection, device, tags):
    """An ICC profile, version 2.4, of tags given as bytes (ICC.1:2001-04)."""
    table, data = struct.pack(">I", len(tags)), b""
    start = 128 + 4 + 12 * len(tags)
    for name, content in tags.items():
        table += name + struct.pack(">II", start + len(data), len(content))
        data += content + bytes(-len(content) % 4)
    head = struct.pack(">I", start + len(data)) + b"\0\0\0\0\x02\x40\0\0" + device + space + connection
    head += bytes(12) + b"acsp" + bytes(28) + fixed(0.9642, 1, 0.8249)
    return head + bytes(128 - len(head)) + table + data


def xyz(*values):
    return b"XYZ \0\0\0\0" + fixed(*values)


def gamma(value):
    return b"curv\0\0\0\0\0\0\0\1" + struct.pack(">Hxx", round(value * 256))


DESCRIPTION = b"desc" + bytes(4) + struct.pack(">I", 5) + b"test\0" + bytes(78)
WHITE = {b"desc": DESCRIPTION, b"wtpt": xyz(0.9642, 1, 0.8249), b"cprt": b"text\0\0\0\0CC0\0"}


def matrix(red, green, blue, power):
    curves = {tag: gamma(power) for tag in (b"rTRC", b"gTRC", b"bTRC")}
    return profile(b"RGB ", b"XYZ ", b"mntr",
                   {**WHITE, b"rXYZ": xyz(*red), b"gXYZ": xyz(*green), b"bXYZ": xyz(*blue), **curves})


def inks():
    """A press whose ink makes nothing but its own complement: Lab values for each of 16 mixtures, and between them."""
    lab = ImageCms.createProfile("LAB", 6504)
    to_lab = ImageCms.buildTransform(ImageCms.createProfile("sRGB"), lab, "RGB", "LAB")
    grid = b""
    for mixture in range(16):
        paper = 40 if mixture & 1 else 255
        color = [paper if not mixture >> bit & 1 else paper // 6 for bit in (3, 2, 1)]
        light, a, b = ImageCms.applyTransform(Image.new("RGB", (1, 1), tuple(color)), to_lab).tobytes()
        grid += bytes([light, (a + 128) & 255, (b + 128) & 255])
    line = bytes(range(256))
    table = b"mft1\0\0\0\0" + bytes([4, 3, 2, 0]) + fixed(1, 0, 0, 0, 1, 0, 0, 0, 1) + line * 4 + grid + line * 3
    return profile(b"CMYK", b"Lab ", b"prtr", {**WHITE, b"A2B0": table})


ADOBE_RGB = matrix((0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457), 2.19921875)
DISPLAY_P3 = matrix((0.51512, 0.2412, -0.00105), (0.29198, 0.69225, 0.04189), (0.1571, 0.06657, 0.78407), 2.2)
GREY = profile(b"GRAY", b"XYZ ", b"mntr", {**WHITE, b"kTRC": gamma(1.4)})
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
INKS = inks()


def in_srgb(image, icc):
    source = ImageCms.ImageCmsProfile(io.BytesIO(icc))
    target = ImageCms.createProfile("sRGB")
    alpha = image.getchannel("A") if image.mode in ("RGBA", "LA") else None
    image = image.convert({"RGBA": "RGB", "LA": "L"}.get(image.mode, image.mode))
    image = ImageCms.profileToProfile(image, source, target, outputMode="RGB").convert("RGBA")
    if alpha:
        image.putalpha(alpha)
    return image


# --- JPEG ------------------------------------------------------------------------------------------------------------

def jpegs():
    def made(name, *options, image=RGB, worst=3, mean=0.7):
        source = io.BytesIO()
        image.save(source, "PPM")
        write(name, run("cjpeg", *options, input=source.getvalue()))
        decoded = Image.open(io.BytesIO(run("djpeg", "-pnm", name)))
        expect(name, decoded.convert("RGBA"), worst=worst, mean=mean)

    kinds = {"baseline": [], "progressive": ["-progressive"], "arithmetic": ["-arithmetic"],
             "restarts": ["-restart", "1B"], "both": ["-progressive", "-arithmetic"]}
    for sampling in ("1x1", "2x1", "2x2", "1x2", "4x1", "4x2", "3x1", "2x1,1x2", "1x1,2x1,1x2"):
        for kind, options in kinds.items():
            made(f"{kind}-{sampling.replace(',', '_')}.jpg", "-quality", "90", "-sample", sampling, *options)
    made("quality-1.jpg", "-quality", "1")
    made("quality-100.jpg", "-quality", "100", "-sample", "1x1")
    made("optimized.jpg", "-optimize")
    made("rgb.jpg", "-rgb")
    made("grey.jpg", "-grayscale")
    made("grey-progressive.jpg", "-grayscale", "-progressive")
    write("scans.txt", b"0;\n1;\n2;\n")
    made("not-interleaved.jpg", "-scans", "scans.txt")
    for width, height in ((1, 1), (1, 40), (40, 1), (17, 9), (16, 16), (7, 65)):
        made(f"size-{width}x{height}.jpg", "-quality", "90", image=drawn(width, height).convert("RGB"))

    cmyk = Image.merge("CMYK", [*ImageOps.invert(RGB).split(), RGB.getchannel("B").point(lambda value: value // 3)])
    for name, options in (("cmyk.jpg", {}), ("cmyk-profile.jpg", dict(icc_profile=INKS)),
                          ("cmyk-progressive.jpg", dict(progressive=True))):
        cmyk.save(name, quality=95, subsampling=0, **options)
        decoded = Image.open(name)
        expect(name, in_srgb(decoded, INKS) if "icc_profile" in options else decoded.convert("RGBA"), worst=4, mean=1)
    run("convert", "cmyk.jpg", "-colorspace", "CMYK", "-quality", "92", "ycck.jpg")
    expect("ycck.jpg", Image.open("ycck.jpg").convert("RGBA"), worst=4, mean=1)

    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        name = f"orientation-{orientation}.jpg"
        RGB.save(name, quality=95, exif=exif)
        expect(name, ImageOps.exif_transpose(Image.open(name)).convert("RGBA"), worst=3)
    for name, icc in (("adobe-rgb", ADOBE_RGB), ("display-p3", DISPLAY_P3), ("srgb", SRGB)):
        RGB.save(f"{name}.jpg", quality=95, icc_profile=icc)
        expect(f"{name}.jpg", in_srgb(Image.open(f"{name}.jpg"), icc), worst=4, mean=1)
    RGB.convert("L").save("grey-profile.jpg", quality=95, icc_profile=GREY)
    expect("grey-profile.jpg", in_srgb(Image.open("grey-profile.jpg"), GREY))


# --- PNG -------------------------------------------------------------------------------------------------------------

def png(color, depth, samples, width, height, interlaced=False, chunks=()):
    """Packs samples[y][x], tuples of whole numbers, as a PNG of any kind; pass after pass if interlaced."""
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    adam7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    packed = b""
    for left, top, across, down in adam7 if interlaced else [(0, 0, 1, 1)]:
        for y in range(top, height, down) if left < width else ():
            bits = "".join(format(value, f"0{depth}b") for x in range(left, width, across) for value in samples[y][x])
            bits += "0" * (-len(bits) % 8)
            packed += b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big")
    head = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, int(interlaced))
    rest = [chunk(b"IDAT", zlib.compress(packed)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunk(*one) for one in chunks) + b"".join(rest)


def pngs():
    def samples(depth, channels, width, height):
        top = (1 << depth) - 1
        values = lambda x, y: (x * top // max(1, width - 1), y * top // max(1, height - 1), (x * 7 + y) * top // 400 & top,
                               top - x * top // (2 * width))
        pick = {1: (0,), 2: (0, 3), 3: (0, 1, 2), 4: (0, 1, 2, 3)}[channels]
        return [[tuple(values(x, y)[index] for index in pick) for x in range(width)] for y in range(height)]

    def judged(name, data):
        write(name, data)
        image = Image.frombytes("RGBA", Image.open(name).size, run("convert", name, "-depth", "8", "rgba:-"))
        expect(name, image, worst=1)

    palette = bytes(value for index in range(256) for value in (index, 255 - index, index * 7 & 255))
    for color, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items():
        channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
        for depth in depths:
            for width, height in ((WIDTH, HEIGHT), (1, 1), (3, 5)):
                for transparent in (False, True) if color in (0, 2, 3) else (False,):
                    for interlaced in (False, True):
                        values = samples(depth, channels, width, height)
                        chunks = [(b"PLTE", palette[:3 << depth])] if color == 3 else []
                        if transparent:
                            key = struct.pack(f">{channels}H", *values[height // 2][width // 2])
                            chunks.append((b"tRNS", bytes([0, 128, 60])[:1 << depth] if color == 3 else key))
                        name = f"type{color}-{depth}-{width}x{height}-{transparent:d}{interlaced:d}.png"
                        judged(name, png(color, depth, values, width, height, interlaced, chunks))
    PICTURE.save("plain.png")
    for method in ("1", "50", "100"):
        run("pngcrush", "-q", "-m", method, "plain.png", f"crushed-{method}.png")
        expect(f"crushed-{method}.png", PICTURE, worst=0, mean=0)
    for name, icc in (("adobe-rgb", ADOBE_RGB), ("display-p3", DISPLAY_P3), ("srgb", SRGB)):
        PICTURE.save(f"{name}.png", icc_profile=icc)
        expect(f"{name}.png", in_srgb(PICTURE, icc))
    PICTURE.convert("LA").save("grey-profile.png", icc_profile=GREY)
    expect("grey-profile.png", in_srgb(PICTURE.convert("LA"), GREY))
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        PICTURE.save(f"orientation-{orientation}.png", exif=exif)
        expect(f"orientation-{orientation}.png", ImageOps.exif_transpose(Image.open(f"orientation-{orientation}.png")))
    for disposal in (0, 1, 2):
        name = f"animated-{disposal}.png"
        moving()[0].save(name, save_all=True, append_images=moving()[1:], disposal=disposal, duration=50)
        expect(name, *rgba_frames(name), worst=0)


# --- WebP and GIF ----------------------------------------------------------------------------------------------------

def moving(background=(0, 0, 0, 0)):
    """Three pictures, each of which changes a part."""
    frames = [PICTURE.copy()]
    for step in (1, 2):
        frame = frames[-1].copy()
        frame.paste((250 // step, 30, 60 * step, 255), (5 * step, 3 * step, 9 * step, 8 * step))
        frame.paste(background, (20, 2 * step, 26, 4 * step))
        frames.append(frame)
    return frames


def rgba_frames(name):
    return [frame.convert("RGBA") for frame in ImageSequence.Iterator(Image.open(name))]


def webps():
    PICTURE.save("source.png")
    kinds = {"lossy": ["-q", "80", "-noalpha"], "lossy-alpha": ["-q", "80"], "lossless": ["-lossless", "-noalpha"],
             "lossless-alpha": ["-lossless"], "near-lossless": ["-near_lossless", "40"], "sharp": ["-sharp_yuv"],
             "alpha-rough": ["-q", "60", "-alpha_q", "20"], "simple-filter": ["-f", "60", "-nostrong"],
             "segments": ["-segments", "4", "-partition_limit", "50"]}
    for kind, options in kinds.items():
        run("cwebp", "-quiet", *options, "source.png", "-o", f"{kind}.webp")
        expect(f"{kind}.webp", *rgba_frames(f"{kind}.webp"), worst=3)
    for width, height in ((1, 1), (1, 33), (33, 1), (17, 9)):
        for lossless in (False, True):
            name = f"size-{width}x{height}-{lossless:d}.webp"
            drawn(width, height).save(name, lossless=lossless)
            expect(name, *rgba_frames(name), worst=3)
    for name, icc in (("adobe-rgb.webp", ADOBE_RGB), ("srgb.webp", SRGB)):
        PICTURE.save(name, lossless=True, exact=True, icc_profile=icc)
        expect(name, in_srgb(PICTURE, icc))
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        name = f"orientation-{orientation}.webp"
        PICTURE.save(name, lossless=True, exif=exif)
        expect(name, ImageOps.exif_transpose(Image.open(name)))
    for name, options in (("animated", dict(lossless=True)), ("animated-mixed", dict(allow_mixed=True, quality=70)),
                          ("animated-small", dict(minimize_size=True, lossless=True))):
        moving()[0].save(f"{name}.webp", save_all=True, append_images=moving()[1:], duration=[40, 80, 120], **options)
        expect(f"{name}.webp", *rgba_frames(f"{name}.webp"), worst=3)


def gifs():
    flat = [frame.convert("RGB") for frame in moving((9, 9, 9))]
    flat[0].save("one.gif")
    run("gifsicle", "--interlace", "one.gif", "-o", "interlaced.gif")
    run("convert", "one.gif", "GIF87:one87.gif")
    for colors in (2, 4, 16, 100):
        flat[0].quantize(colors).save(f"colors-{colors}.gif")
    drawn(1, 1).convert("RGB").save("size-1x1.gif")
    flat[0].save("animated.gif", save_all=True, append_images=flat[1:], duration=[40, 80, 120], loop=0)
    for level in ("1", "3"):
        run("gifsicle", f"-O{level}", "animated.gif", "-o", f"optimized-{level}.gif")
    for disposal in (0, 1, 2, 3):
        name = f"disposal-{disposal}.gif"
        moving()[0].save(name, save_all=True, append_images=moving()[1:], disposal=disposal, duration=50, loop=3)
    parts = [["-delay", "5"]]
    for number, disposal in enumerate(("None", "Background", "Previous", "Previous", "Background", "None")):
        flat[0].rotate(60 * number).resize((9 + number * 2, 7)).save(f"part-{number}.gif", transparency=number)
        parts.append(["-dispose", disposal, "-page", f"{WIDTH}x{HEIGHT}+{3 * number}+{2 * number}", f"part-{number}.gif"])
    run("convert", *sum(parts, []), "parts.gif")
    run("gif2webp", "-quiet", "parts.gif", "-o", "parts.webp")
    for name in ("one", "interlaced", "one87", "colors-2", "colors-4", "colors-16", "colors-100", "size-1x1", "animated",
                 "optimized-1", "optimized-3", "disposal-0", "disposal-1", "disposal-2", "disposal-3", "parts"):
        image = Image.open(f"{name}.gif")
        raw = run("convert", f"{name}.gif", "-coalesce", "-depth", "8", "rgba:-")
        count = image.width * image.height * 4
        frames = [Image.frombytes("RGBA", image.size, raw[at:at + count]) for at in range(0, len(raw), count)]
        expect(f"{name}.gif", *frames, worst=0, mean=0)
    expect("parts.webp", *rgba_frames("parts.webp"), worst=3)


jpegs()
pngs()
webps()
gifs()
write("corpus.json", json.dumps(corpus).encode())
