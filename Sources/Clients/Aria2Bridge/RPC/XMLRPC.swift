import Foundation
import NightshiftAPI

/// The format of XML-RPC: calls and responses (xmlrpc.com/spec).
enum XMLRPC {
    /// Parses a call. Returns nil if the document is not a call.
    static func call(_ document: [UInt8]) -> RPCCall? {
        guard let root = XMLElement(parsing: document), root.name == "methodCall",
            let method = root["methodName"]?.text, !method.isEmpty
        else { return nil }
        let values = (root["params"]?.children ?? []).filter { $0.name == "param" }.map { $0["value"].map(value) }
        guard values.allSatisfy({ $0 != nil }) else { return nil }
        return RPCCall(method: method, parameters: .array(values.compactMap(\.self)), format: .xml)
    }

    /// Returns the document of a response.
    static func response(_ result: Result<RPCValue, RPCError>) -> Data {
        var text = "<?xml version=\"1.0\"?><methodResponse>"
        switch result {
        case .success(let value):
            text += "<params><param>"
            write(value, to: &text)
            text += "</param></params>"
        case .failure(let error):
            text += "<fault>"
            write(error.fault, to: &text)
            text += "</fault>"
        }
        return Data((text + "</methodResponse>").utf8)
    }

    private static func value(_ element: XMLElement) -> RPCValue {
        // A value without a type is a string.
        guard let typed = element.children.first else { return .string(element.text) }
        let text = typed.text.trimmingCharacters(in: .whitespacesAndNewlines)
        switch typed.name {
        case "i4", "int", "i8": return Int64(text).map(RPCValue.integer) ?? .string(text)
        case "boolean": return .bool(text == "1")
        case "double": return Double(text).map(RPCValue.number) ?? .string(text)
        case "base64":
            let bytes = Data(base64Encoded: text, options: .ignoreUnknownCharacters) ?? Data()
            return .string(String(decoding: bytes, as: UTF8.self))
        case "array":
            return .array((typed["data"]?.children ?? []).filter { $0.name == "value" }.map(value))
        case "struct":
            var members: [String: RPCValue] = [:]
            for member in typed.children where member.name == "member" {
                guard let name = member["name"]?.text, let content = member["value"] else { continue }
                members[name] = value(content)
            }
            return .object(members)
        default: return .string(typed.text)
        }
    }

    private static func write(_ value: RPCValue, to text: inout String) {
        text += "<value>"
        switch value {
        case .null: text += "<string></string>"
        case .bool(let flag): text += "<boolean>\(flag ? 1 : 0)</boolean>"
        case .integer(let number): text += "<int>\(number)</int>"
        case .number(let number): text += "<double>\(number)</double>"
        case .string(let string): text += "<string>\(escaped(string))</string>"
        case .array(let values):
            text += "<array><data>"
            for value in values { write(value, to: &text) }
            text += "</data></array>"
        case .object(let members):
            text += "<struct>"
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                text += "<member><name>\(escaped(name))</name>"
                write(value, to: &text)
                text += "</member>"
            }
            text += "</struct>"
        }
        text += "</value>"
    }

    /// Returns the text with escaped markup, without characters that XML 1.0 does not allow (section 2.2).
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "&": escaped += "&amp;"
            case "\t", "\n": escaped.unicodeScalars.append(scalar)
            case "\r": escaped += "&#13;"
            case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
