/// One table of a document, found by the names in its header row.
struct DocumentTable {
    /// The cells of each row below the header.
    var rows: [[String]] = []

    /// Reads the only table in `markdown` with the header `columns`.
    init(_ columns: [String], in markdown: String) {
        var inTable = false
        for line in markdown.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("|") else {
                inTable = false
                continue
            }
            let cells = line.split(separator: "|").map { String($0.trimming(while: \.isWhitespace)) }
            if cells == columns {
                inTable = true
            } else if inTable, cells.count == columns.count, !cells.allSatisfy({ $0.allSatisfy { $0 == "-" } }) {
                rows.append(cells)
            }
        }
    }

    /// Returns the words in backquotes in a cell.
    static func names(in cell: String) -> [String] {
        cell.matches(of: /`([^`]+)`/).map { String($0.output.1) }
    }
}
