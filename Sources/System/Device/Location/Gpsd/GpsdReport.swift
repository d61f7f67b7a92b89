import Foundation
import NightshiftAPI

/// The content of a line from gpsd, reduced to the fields that the service uses (gpsd_json(5)).
enum GpsdReport: Equatable, Sendable {
    /// The greeting, with gpsd's version.
    case version(String)
    /// The number of known receivers.
    case devices(Int)
    /// A notice that a receiver was plugged in or switched on.
    case deviceActivated
    case place(Coordinate, accuracy: Double, isAssumed: Bool)
    /// Any other line, or one that is not valid.
    case other

    /// The accuracy in metres that is assumed for a fix without a reported one: for a fix with a height, and for one
    /// without.
    static let assumedAccuracy = (threeDimensional: 50.0, twoDimensional: 100.0)
    /// The maximum accuracy in metres. gpsd reports larger values only while it does not know the location.
    static let worstAccuracy = 100_000.0

    init(line: some Sequence<UInt8>) {
        guard let raw = try? JSONDecoder().decode(Raw.self, from: GpsdNumbers.readable(line)) else {
            self = .other
            return
        }
        switch raw.class {
        case "VERSION": self = .version(String((raw.release ?? "(unknown version)").prefix(32)))
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
        /// The time at which a receiver was switched on, as text. gpsd sends a number instead if the receiver is gone.
        var activated: String?
        /// The dimensions of the fix: 2 or 3. Other values mean that there is no fix.
        var mode: Int?
        var lat: Double?
        var lon: Double?
        var eph: Double?
        var epx: Double?
        var epy: Double?

        /// An object with any content.
        struct Device: Decodable {}

        enum CodingKeys: CodingKey {
            case `class`, release, devices, activated, mode, lat, lon, eph, epx, epy
        }

        /// Decodes the fields. A field that cannot be decoded counts as missing, so that the others remain usable.
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
            // gpsd's own estimate of the horizontal error is preferred.
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

/// A filter for numbers that JSON does not allow and that drivers of gpsd print: `nan`, `-nan`, `inf`.
///
/// Without the filter, one such number would make a whole line unreadable. A receiver that never knows a value sends
/// such a number with each location.
enum GpsdNumbers {
    /// Returns the line with `null` instead of each such number. Texts in quotes stay unchanged.
    static func readable(_ line: some Sequence<UInt8>) -> Data {
        var result = Data()
        // The bytes of the current word outside of quotes, including its sign.
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

/// A splitter of gpsd's data into lines.
///
/// A pure value. Lines longer than ``longestLine`` are skipped, and their bytes are not kept in memory.
struct GpsdLines {
    /// The maximum length of a line in bytes. gpsd limits its own answers to 10240 bytes.
    static let longestLine = 16_384

    private var begun: [UInt8] = []
    private var isTooLong = false

    /// Returns the reports of the lines that end within `bytes`.
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
