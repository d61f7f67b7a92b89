import Foundation
import NightshiftAPI

/// What a line of gpsd says, as far as it matters here (gpsd_json(5)).
enum GpsdReport: Equatable, Sendable {
    /// The greeting, with gpsd's release.
    case version(String)
    /// How many receivers it knows.
    case devices(Int)
    /// A receiver has come to be used: it was plugged in, or is switched on.
    case deviceActivated
    case place(Coordinate, accuracy: Double, isAssumed: Bool)
    /// Anything else, and what makes no sense.
    case other

    /// Metres that stand for the accuracy of a fix for which gpsd tells none: of satellites enough for a height, and of fewer.
    static let assumedAccuracy = (threeDimensional: 50.0, twoDimensional: 100.0)
    /// Metres; gpsd tells of more only while it does not know where it is.
    static let worstAccuracy = 100_000.0

    init(line: some Sequence<UInt8>) {
        guard let raw = try? JSONDecoder().decode(Raw.self, from: GpsdNumbers.readable(line)) else {
            self = .other
            return
        }
        switch raw.class {
        case "VERSION": self = .version(String((raw.release ?? "of an unknown release").prefix(32)))
        case "DEVICES": self = .devices(raw.devices?.count ?? 0)
        case "DEVICE": self = raw.activated == nil ? .other : .deviceActivated
        case "TPV": self = raw.place ?? .other
        default: self = .other
        }
    }

    private struct Raw: Decodable {
        var `class`: String
        var release: String?
        var devices: [Device]?
        /// When a receiver was switched on, as text; a number where it is gone.
        var activated: String?
        /// 2 is a fix in two dimensions, 3 one in three.
        var mode: Int?
        var lat: Double?
        var lon: Double?
        var eph: Double?
        var epx: Double?
        var epy: Double?

        /// An object of any kind.
        struct Device: Decodable {}

        enum CodingKeys: CodingKey {
            case `class`, release, devices, activated, mode, lat, lon, eph, epx, epy
        }

        /// A field that cannot be read counts as missing: what it says is unknown, and the rest is not.
        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            `class` = try fields.decode(String.self, forKey: .class)
            release = try? fields.decode(String.self, forKey: .release)
            devices = try? fields.decode([Device].self, forKey: .devices)
            activated = try? fields.decode(String.self, forKey: .activated)
            mode = try? fields.decode(Int.self, forKey: .mode)
            lat = try? fields.decode(Double.self, forKey: .lat)
            lon = try? fields.decode(Double.self, forKey: .lon)
            eph = try? fields.decode(Double.self, forKey: .eph)
            epx = try? fields.decode(Double.self, forKey: .epx)
            epy = try? fields.decode(Double.self, forKey: .epy)
        }

        var place: GpsdReport? {
            guard let mode, mode == 2 || mode == 3, let lat, let lon,
                let place = Coordinate(latitude: lat, longitude: lon)
            else { return nil }
            // gpsd's own estimate, where it makes one.
            let wide = epx.flatMap { epx in epy.map { max(epx, $0) } }
            guard let accuracy = eph ?? wide else {
                let assumed = GpsdReport.assumedAccuracy
                return .place(
                    place, accuracy: mode == 3 ? assumed.threeDimensional : assumed.twoDimensional, isAssumed: true)
            }
            guard accuracy > 0, accuracy <= GpsdReport.worstAccuracy else { return nil }
            return .place(place, accuracy: accuracy, isAssumed: false)
        }
    }
}

/// Numbers that JSON does not have, as drivers of gpsd print them: `nan`, `-nan`, `inf`.
///
/// Pure. One of them would make a whole line unreadable, and a receiver that never knows one value sends it with each place.
enum GpsdNumbers {
    /// The line with `null` for each of them; texts stay as they are.
    static func readable(_ line: some Sequence<UInt8>) -> Data {
        var result = Data()
        // A word outside of texts, with its sign.
        var word: [UInt8] = []
        var (isText, isEscaped) = (false, false)
        func end() {
            let letters = word.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }
            let name = String(decoding: letters, as: UTF8.self).lowercased()
            result.append(contentsOf: ["nan", "inf", "infinity"].contains(name) ? Array("null".utf8) : word)
            word.removeAll(keepingCapacity: true)
        }
        for byte in line {
            if isText {
                result.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"),
                UInt8(ascii: "+"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."):
                word.append(byte)
            default:
                end()
                result.append(byte)
                isText = byte == UInt8(ascii: "\"")
            }
        }
        end()
        return result
    }
}

/// Divides what gpsd sends into lines.
///
/// Pure. A line that is too long is left out, and costs no more than ``longestLine``.
struct GpsdLines {
    /// Bytes. gpsd's own limit of an answer is 10240.
    static let longestLine = 16_384

    private var begun: [UInt8] = []
    private var isTooLong = false

    /// The reports of the lines that end in `bytes`.
    mutating func read(_ bytes: some Sequence<UInt8>) -> [GpsdReport] {
        var reports: [GpsdReport] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                if !isTooLong, !begun.isEmpty { reports.append(GpsdReport(line: begun)) }
                begun.removeAll(keepingCapacity: true)
                isTooLong = false
            } else if begun.count == Self.longestLine {
                isTooLong = true
            } else if !isTooLong {
                begun.append(byte)
            }
        }
        return reports
    }
}
