import ArgumentParser
import NightshiftAPI

/// Parses a form field as in curl: `name=value`, or `name=@file`, which `;type=...` and `;filename=...` may follow.
enum FormArgument {
    static func parse(_ text: String) throws -> FormField {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw ValidationError("a field of a form is written 'name=value' or 'name=@file'")
        }
        var field = FormField(name: String(text[..<equals]))
        let content = text[text.index(after: equals)...]
        guard content.first == "@" else {
            field.value = String(content)
            return field
        }
        var path = content.dropFirst()
        // Options are read from the end, because the name of a file may contain semicolons.
        while let semicolon = path.lastIndex(of: ";") {
            let option = path[path.index(after: semicolon)...]
            if option.hasPrefix("type=") {
                field.contentType = String(option.dropFirst("type=".count))
            } else if option.hasPrefix("filename=") {
                field.fileName = String(option.dropFirst("filename=".count))
            } else {
                break
            }
            path = path[..<semicolon]
        }
        guard !path.isEmpty else { throw ValidationError("'\(field.name)=@' lacks the name of a file") }
        field.source = String(path)
        return field
    }
}
