import ArgumentParser
import Foundation
import PushGateway

/// A command that sends a request to a running gateway, and prints the answer.
protocol AskingCommand: ParsableCommand {
    var asking: AskingOptions { get }
    var request: AdministrationRequest { get throws }
}

struct AskingOptions: ParsableArguments {
    @OptionGroup var places: PlaceOptions

    @Flag(help: "Prints JSON.")
    var json = false
}

extension AskingCommand {
    func run() throws {
        let report = Report(isJSON: asking.json)
        try AdministrationClient(path: asking.places.socketPath()).ask(try request) { reply in
            if case .failed(let reason) = reply { throw GatewayError(reason) }
            try report.print(reply)
            return true
        }
    }
}

/// The output of a gateway's answer, for people or as JSON.
struct Report {
    var isJSON: Bool

    func print(_ reply: AdministrationReply) throws {
        switch reply {
        case .done(let text): isJSON ? try json(["done": text]) : line(text)
        case .failed(let reason): throw GatewayError(reason)
        case .teams(let teams):
            try list(teams) { "\($0.id)  \($0.isSuspended ? "suspended  " : "")\($0.name)" }
        case .keys(let keys):
            try list(keys) { "\($0.id)  team \($0.team)  \($0.environment)\($0.isRevoked ? "  revoked" : "")" }
        case .topics(let topics): try list(topics) { "\($0.name)  team \($0.team)" }
        case .devices(let devices): try list(devices, device)
        case .device(let record, let tokens, let waiting):
            if isJSON {
                try json(DeviceReport(device: record, tokens: tokens, waiting: waiting))
            } else {
                line(device(record))
                for token in tokens {
                    let end = token.endedAt.map { "  \(token.endedBy ?? "ended") \($0)" } ?? ""
                    line("  token \(token.token)  \(token.topic)\(end)")
                }
                for push in waiting {
                    let why = push.isHeld ? "held until \(push.heldUntil ?? "?")" : "stored"
                    line("  push \(push.id)  \(push.topic)  \(why), expires \(push.expiresAt)")
                }
            }
        case .enrolment(let enrolment):
            if isJSON { return try json(enrolment) }
            line(enrolment.url)
            line("Valid for one use until \(enrolment.expiresAt).")
        case .log(let lines):
            for entry in lines { isJSON ? try json(entry) : line("\(entry.at)  \(entry.push)  \(entry.sentence)") }
        case .status(let status):
            if isJSON { return try json(status) }
            line("Connected: \(status.deviceConnections) devices, \(status.providerConnections) providers.")
            line("Registered: \(status.teams) teams, \(status.devices) devices, \(status.tokens) tokens.")
            line("Waiting: \(status.stored) stored pushes\(status.held.map { ", \($0) held ones" } ?? "").")
        }
    }

    private struct DeviceReport: Encodable {
        var device: AdministrationReply.Device
        var tokens: [AdministrationReply.Token]
        var waiting: [AdministrationReply.Waiting]
    }

    private func device(_ device: AdministrationReply.Device) -> String {
        let state = device.isRevoked ? "revoked" : device.isConnected ? "connected" : "offline"
        return "\(device.id)  \(state)  \(device.name)  seen \(device.seenAt ?? "never")"
    }

    private func list<Element: Encodable>(_ elements: [Element], _ text: (Element) -> String) throws {
        if isJSON { return try json(elements) }
        for element in elements { line(text(element)) }
    }

    private func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        write(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Writes one line for people. Devices choose their names, and a terminal obeys control characters. Therefore
    /// control characters are written as `\u{1b}`.
    private func line(_ text: String) {
        var line = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                line += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: line.unicodeScalars.append(scalar)
            }
        }
        write(line)
    }

    private func write(_ line: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }
}
