import CExpat

/// An element of an XML document without namespaces: its name, its text, and its children.
struct XMLElement: Sendable {
    var name: String
    /// All text directly in the element, in one piece.
    var text = ""
    var children: [XMLElement] = []

    /// The first child with this name.
    subscript(name: String) -> XMLElement? { children.first { $0.name == name } }

    /// Parses a document, and returns its root. Returns nil if the document is not well-formed, has a document type
    /// declaration, or is nested more deeply than ``mostLevels``.
    ///
    /// Documents with a declaration are refused, because only a declaration can define entities. Entities could expand
    /// without limit, or read files.
    init?(parsing document: [UInt8]) {
        guard let parser = XML_ParserCreate("UTF-8") else { return nil }
        defer { XML_ParserFree(parser) }
        let reader = XMLReader(parser)
        XML_SetUserData(parser, Unmanaged.passUnretained(reader).toOpaque())
        XML_SetElementHandler(
            parser,
            { data, name, _ in XMLReader.of(data).begin(String(cString: name!)) },
            { data, _ in XMLReader.of(data).end() })
        XML_SetCharacterDataHandler(parser) { data, text, length in
            let bytes = UnsafeRawBufferPointer(start: text, count: Int(length))
            XMLReader.of(data).add(String(decoding: bytes, as: UTF8.self))
        }
        XML_SetStartDoctypeDeclHandler(parser) { data, _, _, _, _ in XMLReader.of(data).stop() }
        let status = document.withUnsafeBytes { bytes in
            XML_Parse(
                parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: bytes.count), 1)
        }
        // The reader is used by the callbacks until here.
        guard withExtendedLifetime(reader, { status == XML_STATUS_OK }), let root = reader.root else { return nil }
        self = root
    }

    fileprivate init(name: String) {
        self.name = name
    }

    /// The deepest nesting. Calls of real clients have at most 15 levels.
    static let mostLevels = 200
}

/// The state of the parser of one document. Only the callbacks of that parser use it, on one thread.
private final class XMLReader {
    private let parser: XML_Parser
    private var open: [XMLElement] = []
    private(set) var root: XMLElement?

    init(_ parser: XML_Parser) {
        self.parser = parser
    }

    static func of(_ data: UnsafeMutableRawPointer?) -> XMLReader {
        // Set in ``XMLElement/init(parsing:)`` before the parser starts.
        Unmanaged<XMLReader>.fromOpaque(data!).takeUnretainedValue()
    }

    func begin(_ name: String) {
        guard open.count < XMLElement.mostLevels else { return stop() }
        open.append(XMLElement(name: name))
    }

    func add(_ text: String) {
        guard !open.isEmpty else { return }
        open[open.count - 1].text += text
    }

    func end() {
        guard let element = open.popLast() else { return }
        if open.isEmpty {
            root = element
        } else {
            open[open.count - 1].children.append(element)
        }
    }

    func stop() {
        XML_StopParser(parser, XML_FALSE)
    }
}
