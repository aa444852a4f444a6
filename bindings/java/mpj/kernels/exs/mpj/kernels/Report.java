// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The results of a kernel, in the order in which they were put; as text, or as one JSON object. */
final class Report {
  private final Map<String, Object> values = new LinkedHashMap<>();

  /** Begins a report, in the same way for all kernels. */
  static Report of(String kernel, char size, Ranks ranks, boolean verified) {
    return new Report()
        .put("kernel", kernel)
        .put("class", String.valueOf(size))
        .put("ranks", ranks.count)
        .put("verified", verified);
  }

  /** Adds a number, a boolean, a string, another report, or a list of these. */
  Report put(String key, Object value) {
    values.put(key, value);
    return this;
  }

  boolean verified() {
    return Boolean.TRUE.equals(values.get("verified"));
  }

  String json() {
    StringBuilder out = new StringBuilder("{");
    String separator = "";
    for (Map.Entry<String, Object> entry : values.entrySet()) {
      out.append(separator).append(quoted(entry.getKey())).append(": ").append(json(entry.getValue()));
      separator = ", ";
    }
    return out.append('}').toString();
  }

  String text() {
    StringBuilder out = new StringBuilder();
    for (Map.Entry<String, Object> entry : values.entrySet()) {
      if (entry.getValue() instanceof List) {
        out.append(entry.getKey()).append('\n');
        for (Object row : (List<?>) entry.getValue()) out.append("  ").append(json(row)).append('\n');
      } else {
        out.append(String.format(Locale.ROOT, "%-24s %s%n", entry.getKey(), entry.getValue()));
      }
    }
    return out.toString();
  }

  private static String json(Object value) {
    if (value instanceof Report) return ((Report) value).json();
    if (value instanceof String) return quoted((String) value);
    if (value instanceof Double && !Double.isFinite((Double) value)) return "null";
    if (!(value instanceof List)) return String.valueOf(value);
    StringBuilder out = new StringBuilder("[");
    String separator = "";
    for (Object member : (List<?>) value) {
      out.append(separator).append(json(member));
      separator = ", ";
    }
    return out.append(']').toString();
  }

  private static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}
