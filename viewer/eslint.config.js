import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules", "dist"] },
  ...tseslint.configs.recommended,
  {
    files: ["**/*.ts", "**/*.tsx"],
    rules: {
      // Typed arrays are read in range; checking each element would cost what they save.
      "@typescript-eslint/no-non-null-assertion": "off",
      eqeqeq: "error",
      "max-lines": ["error", 400],
      "no-restricted-properties": ["error", { property: "innerHTML" }, { property: "outerHTML" }],
      "no-restricted-syntax": [
        "error",
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "Names are text." },
      ],
    },
  },
);
